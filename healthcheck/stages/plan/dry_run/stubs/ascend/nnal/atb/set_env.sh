# A stub of the environment script of ATB, which the service's image has.
export ATB_HOME_PATH=/usr/local/Ascend/nnal/atb/latest/atb/cxx_abi_1
case $- in *u*) echo atb-under-u >>@KIT@/run/notes ;; esac
if [ -z "${BASH_VERSION-}" ]; then echo cann-without-bash >>@KIT@/run/notes; fi
