# Read first by each bash: the one that runs deploy.sh writes its commands, with file and line, to a handle of its own.
BASH_ENV=@KIT@/shell.sh
. "$BASH_ENV"
if [ "${0##*/}" = @SCRIPT@ ] && { : >&251; } 2>/dev/null; then
    PS4='+${BASH_SOURCE-}:$LINENO: ' BASH_XTRACEFD=251
    set -x
fi
