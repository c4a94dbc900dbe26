"""A framework that looks for the truth wherever it might be, and reports what it could reach.

Each `find_…` returns a short text that says what was found, or an empty one. The words to look for (the name of
the source file, canaries in the parent's memory and in files) come as parameters, so that nothing is left to luck.
"""

import ctypes
import glob
import json
import os
import socket

import numpy as np
from assay_contract import Prediction

SKIP = ("/proc", "/sys", "/usr", "/dev")


def fit(train, budget, params):
    folder = str(train.artifacts.parent.parent)
    found = {}
    for name, look in list(globals().items()):
        if name.startswith("find_"):
            try:
                found[name[5:]] = look(folder, params) or ""
            except (OSError, ValueError) as error:
                found[name[5:]] = ""
                print(name, "refused:", error)
    train.report(models_count=1, found=found)
    return np.bincount(train.y, minlength=len(train.classes)) / len(train.y)


def predict(model, test):
    return Prediction(probabilities=np.tile(model, (test.n_rows, 1)))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def walk(match, roots=("/",), most=200_000):
    """Return the first readable file whose path matches, anywhere but in the system's folders."""
    seen = 0
    for root in roots:
        for folder, folders, files in os.walk(root):
            if folder.startswith(SKIP):
                folders[:] = []
                continue
            for name in files:
                seen += 1
                path = os.path.join(folder, name)
                if match(path) and os.access(path, os.R_OK):
                    with open(path, "rb") as file:
                        file.read(1)
                    return path
            if seen > most:
                return ""
    return ""


def places(folder):
    """Return where to look: the store that our folder or our inputs lie in, then everywhere."""
    found = []
    for place in (os.path.realpath(folder), os.path.realpath(os.path.join(folder, "train.npz"))):
        while place != "/":
            place = os.path.dirname(place)
            if os.path.exists(os.path.join(place, "assay-store.json")):
                found.append(place)
    return (*found, "/")


def find_sibling_fold(folder, params):
    own = os.path.realpath(os.path.join(folder, "train.npz"))
    return walk(lambda path: path.endswith("train.npz") and os.path.realpath(path) != own, places(folder))


def find_truth_in_store(folder, params):
    return walk(lambda path: "/truth/" in path and path.endswith(".npz"), places(folder))


def find_source_file(folder, params):
    if os.path.exists(params["_source"]):
        with open(params["_source"]) as file:
            return file.read(20)
    return walk(lambda path: path.endswith(os.path.basename(params["_source"])))


def find_openml_cache(folder, params):
    path = params["_openml"]
    return str(read(path)[:20]) if os.path.exists(path) else walk(lambda p: "/org/openml/" in p)


def find_secret(folder, params):
    """The secret from which the order of the test rows follows."""
    with open(params["_secret"], "rb") as file:
        return file.read().hex()


def find_other_processes(folder, params):
    """Command lines of processes that are not our own."""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = read(path)
        except OSError:
            continue
        if params["_token"].encode() in words:
            return words.decode("utf-8", "replace")[:80]
    return ""


def find_other_environments(folder, params):
    """The environment of the sandbox's first process and of every other we can see."""
    for path in glob.glob("/proc/[0-9]*/environ"):
        if path.split("/")[2] == str(os.getpid()):
            continue
        try:
            words = read(path)
        except OSError:
            continue
        if params["_canary"].encode() in words:
            return path
    return ""


def find_parent_memory(folder, params):
    """The canary in the memory of any process we may open."""
    needle = bytes(b ^ 0x55 for b in bytes.fromhex(params["_needle"]))
    for pid in sorted({os.getppid(), 1, *params["_pids"]}):
        try:
            maps = read(f"/proc/{pid}/maps").decode().splitlines()
            with open(f"/proc/{pid}/mem", "rb") as memory:
                for line in maps:
                    span, rights = line.split()[:2]
                    low, high = (int(word, 16) for word in span.split("-"))
                    if "r" not in rights or high - low > 200 * 2**20:
                        continue
                    try:
                        memory.seek(low)
                        if needle in memory.read(high - low):
                            return f"process {pid}"
                    except (OSError, ValueError):
                        continue
        except OSError:
            continue
    return ""


def find_way_to_remount(folder, params):
    """Make the root writable, or take away what was laid over an input."""
    libc = ctypes.CDLL(None, use_errno=True)
    remount, read_write = 32, 0
    if libc.mount(None, b"/", None, remount | read_write, None) == 0:
        return "remounted /"
    if libc.umount2(b"/job/train.npz", 2) == 0:
        return "unmounted an input"
    return ""


def find_tcp(folder, params):
    with socket.create_connection(("127.0.0.1", params["_tcp"]), timeout=2) as connection:
        return connection.recv(20).decode()


def find_udp(folder, params):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.settimeout(2)
        connection.sendto(b"?", ("127.0.0.1", params["_udp"]))
        return connection.recv(20).decode()


def find_names_in_job(folder, params):
    """The name of the dataset, its target's file or the fold in what we are told."""
    said = json.loads(read(os.path.join(folder, "job.json")))
    del said["params"]
    text = json.dumps(said)
    return next((word for word in params["_names"] if word in text), "")


def find_row_order(folder, params):
    """Row numbers or an order in the test file that follow those of the source."""
    with np.load(os.path.join(folder, "test.npz")) as test:
        order = test["c0"]  # in the source this column grows with the row number
        return "rows are in the order of the source" if (np.diff(order) >= 0).all() else ""


def find_way_to_write_outcome(folder, params):
    path = os.path.join(folder, "outcome.json")
    with open(path, "w") as file:
        file.write("{}")
    os.unlink(path)
    return path


def find_way_to_kill_supervisor(folder, params):
    for pid in params["_pids"]:
        try:
            os.kill(pid, 0)
        except OSError:
            continue
        return f"may signal {pid}"
    return ""


def find_writable_settings(folder, params):
    """Files of /proc and /sys that open for writing, beyond those of our own processes; nothing is written."""
    count = 0
    for top in ("/proc/sys", "/proc/irq", "/proc/bus", "/sys"):
        for place, _, files in os.walk(top):
            for name in files:
                try:
                    os.close(os.open(os.path.join(place, name), os.O_WRONLY | os.O_NONBLOCK))
                except OSError:
                    continue
                count += 1
    return f"{count} files" if count else ""


def find_page_cache(folder, params):
    """Which pages of a library are in memory: two jobs could tell each other by loading them."""
    library = next(path for path in glob.glob("/usr/lib/*/libc.so.6"))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    descriptor = os.open(library, os.O_RDONLY)
    size = os.fstat(descriptor).st_size
    try:
        os.preadv(descriptor, [bytearray(1)], 0, os.RWF_NOWAIT)
        return "reading without waiting"
    except OSError:
        pass
    pages = (ctypes.c_ubyte * (size // 4096 + 1))()
    address = libc.mmap(None, ctypes.c_size_t(size), 1, 2, descriptor, ctypes.c_long(0))
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    if libc.mincore(address, size, pages) != 0:
        return ""
    # Where it must not tell, the kernel says that every page is there. So drop them, and see whether it notices.
    os.posix_fadvise(descriptor, 0, size, os.POSIX_FADV_DONTNEED)
    libc.mincore(address, size, pages)
    return "" if all(page & 1 for page in pages) else "pages that are not in memory"


def find_other_groups(folder, params):
    """Control groups of others: how many processes they have is a number that another job can set."""
    groups = [place for place, _, files in os.walk("/sys/fs/cgroup") if "pids.current" in files]
    text = read("/proc/self/cgroup").decode()
    above = [line for line in text.splitlines() if line.rpartition(":")[2] not in ("/", "")]
    return ", ".join(groups[1:] + above)


def find_keyring(folder, params):
    """A session keyring that others have too, or any use of keys."""
    libc = ctypes.CDLL(None, use_errno=True)
    session = ctypes.c_int(-3)
    number = libc.syscall(250, 0, session, 0) if os.uname().machine == "x86_64" else -1
    return f"session keyring {number}" if number > 0 else ""


def find_way_around_the_filter(folder, params):
    """System calls that no framework needs."""
    libc = ctypes.CDLL(None, use_errno=True)
    if os.uname().machine != "x86_64":
        return ""
    calls = {"io_uring_setup": 425, "bpf": 321, "userfaultfd": 323, "perf_event_open": 298}
    open_ones = []
    for name, number in calls.items():
        ctypes.set_errno(0)
        libc.syscall(number, 0, 0, 0, 0, 0)
        if ctypes.get_errno() not in (1, 38):
            open_ones.append(name)
    if libc.unshare(0x10000000) == 0:
        open_ones.append("user namespaces")
    return ", ".join(open_ones)


def find_special_bits(folder, params):
    """A file with special bits, or owned by root of the host, that is left in `out`."""
    path = os.path.join(folder, "out", "tool")
    with open(path, "w") as file:
        file.write("#!/bin/sh\n")
    os.chmod(path, 0o6755)
    return ""


def find_names_in_proc(folder, params):
    """The path of the store, the key of the job or its fold, in what /proc and /sys tell of us."""
    files = [
        "mountinfo",
        "mounts",
        "mountstats",
        "cgroup",
        "cmdline",
        "environ",
        "maps",
        "cpuset",
        "numa_maps",
    ]
    paths = [f"/proc/{pid}/{name}" for pid in ("self", "1", str(os.getppid())) for name in files]
    texts = []
    for path in paths:
        try:
            texts.append(read(path).decode("utf-8", "replace"))
        except OSError:
            continue
    for link in ("cwd", "root", "exe"):
        try:
            texts.append(os.readlink(f"/proc/self/{link}"))
        except OSError:
            continue
    texts += [place for place, _, _ in os.walk("/sys/fs/cgroup")]
    whole = "\n".join(texts)
    return next((word for word in params["_store_words"] if word in whole), "")
