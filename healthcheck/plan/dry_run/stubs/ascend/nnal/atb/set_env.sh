# A stand-in for the environment script of ATB, which the service's image has.
export ATB_HOME_PATH=/usr/local/Ascend/nnal/atb/latest/atb/cxx_abi_1
case $- in *u*) : >>@KIT@/records/atb-under-u ;; esac
if [ -z "${BASH_VERSION-}" ]; then : >>@KIT@/records/cann-without-bash; fi
