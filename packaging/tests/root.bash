# What in-root and newcomer share, to be sourced with `root` and `program` set: the program in a
# root, and what has been started there. Both have a network and a mount namespace of their own.

# What a program finds in any system: /proc, some devices, and an empty /tmp. This system's own
# root has them, and the program may be in its /tmp.
furnished() {
    ip link set lo up
    [ "$root" != / ] || return 0
    mkdir -p "$root/proc" "$root/dev" "$root/tmp"
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    for device in null zero random urandom; do
        touch "$root/dev/$device"
        mount --bind "/dev/$device" "$root/dev/$device"
    done
    mount -t tmpfs tmpfs "$root/tmp"
}

inside() { env -i HOME=/tmp PATH=/usr/sbin:/usr/bin:/sbin:/bin WINDLASS_STORE= chroot "$root" "$program" "$@"; }

started=()
ends() {
    for pid in ${started[@]+"${started[@]}"}; do kill "$pid" 2>/dev/null || true; done
    wait
}
trap ends EXIT
