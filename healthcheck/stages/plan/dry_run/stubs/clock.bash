sleep() {
    command sleep "$@" || return
    case ${1:-} in
        *m) SECONDS=$((SECONDS + 60 * ${1%%[.m]*})) ;;
        *h) SECONDS=$((SECONDS + 3600 * ${1%%[.h]*})) ;;
        [0-9]*) SECONDS=$((SECONDS + ${1%%[.s]*})) ;;
    esac
}
