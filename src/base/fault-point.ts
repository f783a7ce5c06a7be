/**
 * Named places in the write path where a test may kill the process. They cost nothing when no fault is set. A fault is `name` or `name:N`;
 * `name:N` kills the process when the thread passes the place for the Nth time.
 */
let armed: { name: string; left: number } | undefined;

/** Arms one fault for this thread. An entry point calls it once with MEMPALACE_FAULT. */
export function armFault(fault: string | undefined): void {
  if (fault === undefined) return;
  const [name = "", nth = "1"] = fault.split(":");
  armed = { name, left: Number(nth) };
}

/** Kills the process with SIGKILL if this place is armed. No code runs afterwards, as in a power cut. */
export function faultPoint(name: string): void {
  if (armed?.name !== name) return;
  armed.left -= 1;
  if (armed.left <= 0) process.kill(process.pid, "SIGKILL");
}
