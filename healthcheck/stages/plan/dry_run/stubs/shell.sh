# Read first by each bash, and by the sh of a deploy.sh with ulimit. The sandbox's limits stay as they are; what every
# container lets its root set is remembered and told. Of the kinds below, containers limit open files alone: to 524288
# since Docker 29 and containerd 2.1.5, to 1048576 or more before.
ulimit() {
    { local - && set +x; } 2>/dev/null || :
    local word='' rest='' mode='' kind='' to='' said='' number='' hard='' most='' top=9223372036854775807 status=0
    for word in "$@"; do
        case $word in
            -*)
                rest=${word#-}
                rest=${rest#[HS]}
                rest=${rest#[HS]}
                mode=$mode${word%"$rest"}
                kind=$kind$rest
                ;;
            *) to=$to$word ;;
        esac
    done
    case ${BASH_VERSION:+bash}$kind in
        bash?[0-9]*)
            to=${kind#?}$to
            kind=${kind%"${kind#?}"}
            ;;
    esac
    case ${kind:-f} in
        n) most=524288 ;;
        [cdfmstuvx])
            kind=${kind:-f}
            most=$top
            ;;
        *) kind= ;;
    esac
    [ -z "$kind" ] || eval "said=\${dry_run_limit_$kind-} most=\${dry_run_most_$kind:-$most}"
    if [ -z "$to" ] && [ -n "$said" ]; then
        printf '%s\n' "$said"
        return 0
    fi
    case $to in
        unlimited) number=$top ;;
        *[!0-9]*) ;;
        *) number=$to ;;
    esac
    if said=$(command ulimit "$@" 2>&1); then
        command ulimit "$@"
    else
        status=$?
        hard=$(command ulimit "-H$kind" 2>/dev/null) || :
        if [ -z "$kind" ] || ! { [ "$number" -gt "$hard" ] && [ "$number" -le "$most" ]; } 2>/dev/null; then
            rest=$0
            [ -z "${BASH_VERSION-}" ] || eval 'rest="${BASH_SOURCE[1]-$0}: line $BASH_LINENO"'
            printf '%s: ulimit: %s\n' "$rest" "${said#*ulimit: }" >&2
            return "$status"
        fi
    fi
    if [ -z "$kind" ] || [ -z "$number" ]; then return 0; fi
    eval "dry_run_limit_$kind=\$to"
    case $mode in
        *H*) ;;
        *S*) return 0 ;;
    esac
    eval "dry_run_most_$kind=\$number"
}
if [ -n "${BASH_VERSION-}" ] && [ -e @KIT@/loading ]; then . @KIT@/loading; fi
