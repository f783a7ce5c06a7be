/** Calls the C library for functions that Node lacks. Loading koffi takes about 100 ms, so it is loaded only when needed. */
import { createRequire } from "node:module";
import type { Socket } from "node:net";
import { constants } from "node:os";

type Koffi = typeof import("koffi");

const LOCK_EX = 2;
const LOCK_NB = 4;
const isMac = process.platform === "darwin";

function load(): {
  flock: (fd: number, operation: number) => number;
  getsockopt?: Function;
  getpeereid?: Function;
  koffi: Koffi;
} {
  const koffi = createRequire(import.meta.url)("koffi") as Koffi;
  const libc = koffi.load(isMac ? "libSystem.dylib" : "libc.so.6");
  const flock = libc.func("int flock(int, int)") as unknown as (fd: number, operation: number) => number;
  if (isMac) return { koffi, flock, getpeereid: libc.func("int getpeereid(int, _Out_ uint32_t *, _Out_ uint32_t *)") };
  return { koffi, flock, getsockopt: libc.func("int getsockopt(int, int, int, _Out_ void *, _Inout_ uint32_t *)") };
}

let loaded: ReturnType<typeof load> | undefined;
const libc = (): ReturnType<typeof load> => (loaded ??= load());

/** Linux and macOS have different error numbers. */
const { EWOULDBLOCK, EINTR } = constants.errno;

/**
 * Takes the lock on an open file without waiting. Returns false if another process has the lock. The kernel releases the lock when the
 * process ends. The lock conflicts with Python's flock, but not with fcntl locks (engine.md 9). Errors: an Error if the file system has no
 * such locks.
 */
export function tryFlock(fd: number): boolean {
  const { flock, koffi } = libc();
  if (flock(fd, LOCK_EX | LOCK_NB) === 0) return true;
  const errno = koffi.errno();
  if (errno === EWOULDBLOCK || errno === EINTR) return false;
  throw new Error(`flock is refused here (errno ${errno})`);
}

export type PeerCredentials = { uid: number; pid: number };

/** Returns the process at the other end of a UNIX socket, or undefined if unknown. `pid`: 0 if the system reports only the user. */
export function peerCredentials(socket: Socket): PeerCredentials | undefined {
  const fd = (socket as unknown as { _handle?: { fd?: number } })._handle?.fd;
  if (fd === undefined || fd < 0) return undefined;
  const { getsockopt, getpeereid } = libc();
  if (getpeereid !== undefined) {
    const uid = [0];
    return getpeereid(fd, uid, [0]) === 0 ? { uid: uid[0] ?? -1, pid: 0 } : undefined;
  }
  // struct ucred { pid_t pid; uid_t uid; gid_t gid; }; SOL_SOCKET = 1, SO_PEERCRED = 17 on every Linux port we build for.
  const ucred = Buffer.alloc(12);
  if (getsockopt?.(fd, 1, 17, ucred, [ucred.length]) !== 0) return undefined;
  return { pid: ucred.readInt32LE(0), uid: ucred.readUInt32LE(4) };
}

let poll: Function | undefined;

/** Returns false if the other end of the pipe, socket or terminal is closed. */
export function hasReader(fd: number): boolean {
  poll ??= libc()
    .koffi.load(isMac ? "libSystem.dylib" : "libc.so.6")
    .func("int poll(_Inout_ void *, ulong, int)");
  // struct pollfd { int fd; short events; short revents; }; the kernel always reports POLLERR and POLLHUP in `revents`.
  const polled = Buffer.alloc(8);
  polled.writeInt32LE(fd);
  (poll as Function)(polled, 1, 0);
  return polled.readInt16LE(6) === 0;
}

let trim: Function | undefined;

/** Gives freed memory back to the system, because glibc keeps it. Returns false if the C library has no such function. */
export function trimMemory(): boolean {
  if (isMac) return false;
  try {
    trim ??= libc().koffi.load("libc.so.6").func("int malloc_trim(size_t)") as Function;
  } catch {
    return false;
  }
  trim(0);
  return true;
}
