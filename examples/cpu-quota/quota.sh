# A control group with a CPU quota, of version 2 or version 1: functions for run.sh, which sources this.
# Ends with a hint where there is neither, and changes nothing above the group that it makes, except
# that version 2 must hand the controller cpu down to it. Needs root.

# make_group NAME: sets $group, and $group_version.
make_group() {
    unified=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    version_1=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2; exit }' /proc/mounts)
    if [ -n "$unified" ] && grep -qw cpu "$unified/cgroup.controllers"; then
        grep -qw cpu "$unified/cgroup.subtree_control" || echo +cpu 2>/dev/null >"$unified/cgroup.subtree_control" ||
            failed "control groups may not limit CPU below $unified" "run as root, outside a container: a group with processes cannot hand +cpu down"
        group=$unified/$1 group_version=2
    elif [ -n "$version_1" ]; then
        group=$version_1/$1 group_version=1
    else
        failed "no controller cpu of control groups is mounted" "boot with systemd or mount one: mount -t cgroup -o cpu none DIRECTORY"
    fi
    mkdir -p "$group" || failed "$group cannot be made" "run as root"
    [ -e "$group/cpu.max" ] || [ -e "$group/cpu.cfs_quota_us" ] ||
        failed "this kernel has no CPU quotas" "it needs CONFIG_CFS_BANDWIDTH"
}

# set_quota MICROSECONDS|max PERIOD
set_quota() {
    if [ "$group_version" = 2 ]; then
        echo "$1 $2" >"$group/cpu.max"
    elif [ "$1" = max ]; then
        echo -1 >"$group/cpu.cfs_quota_us"
    else
        echo "$2" >"$group/cpu.cfs_period_us"
        echo "$1" >"$group/cpu.cfs_quota_us"
    fi
}

# A group can go once its processes have ended.
remove_group() {
    for attempt in 1 2 3 4 5 6 7 8 9 10; do
        rmdir "$group" 2>/dev/null && return
        sleep 0.5
    done
    echo "cpu-quota: $group remains, as processes are in it" >&2
}
