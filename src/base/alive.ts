/** Returns true if a process with this number exists, whoever owns it. It may be a different process: the system reuses numbers. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
