# What becomes systemd, in new namespaces. Its arguments are the directories that the machine shares with the host.
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mkdir /run/lock /run/kept /run/etc /run/dev
number=0
for kept in "$@"; do
    mkdir "/run/kept/$number"
    mount --bind "$kept" "/run/kept/$number"
    number=$((number + 1))
done

mount -t proc proc /proc
# Of the kernel's settings, only those of the network are the machine's own.
mount --bind /proc/sys /proc/sys
mount --bind /proc/sys/net /proc/sys/net
mount -o remount,bind,ro /proc/sys
umount -R /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup

# The host's configuration, without what it would start, mount or run.
mount -t tmpfs tmpfs /run/etc
cp -a /etc/. /run/etc
rm -rf /run/etc/fstab /run/etc/crypttab /run/etc/systemd /run/etc/tenure
mkdir -p /run/etc/systemd/system
mount --move /run/etc /etc
for started in /lib/systemd/system-generators /lib/systemd/system/*.wants; do
    if [ -d "$started" ]; then mount -t tmpfs tmpfs "$started"; fi
done
printf '[Unit]\nRequires=basic.target\nWants=systemd-journald.service\n' >/etc/systemd/system/machine.target
ln -s /dev/null /etc/systemd/system/systemd-journald-audit.socket

# No device but those that every container has.
mount -t tmpfs -o mode=755 tmpfs /run/dev
mkdir /run/dev/shm /run/dev/pts
for device in null zero full random urandom tty; do
    : >"/run/dev/$device"
    mount --bind "/dev/$device" "/run/dev/$device"
done
mount --move /run/dev /dev
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts /dev/pts
ln -s pts/ptmx /dev/ptmx

for own in /tmp /var /usr/local/bin; do mount -t tmpfs tmpfs "$own"; done
chmod 1777 /tmp
mkdir -p /var/lib/cni /var/log /var/cache
mkdir -m 1777 /var/tmp
ln -s /run /var/run
number=0
for kept in "$@"; do
    mkdir -p "$kept"
    mount --move "/run/kept/$number" "$kept"
    number=$((number + 1))
done
# Nothing of the host's can be written.
mount -o remount,bind,ro /
# As at a boot without a container around it.
mount --make-rshared /
exec env -i container=other PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --unit=machine.target --log-target=journal --show-status=no
