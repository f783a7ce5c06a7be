/** Fault points: named lines of the write path at which a test can kill the process. */
let armed: { name: string; left: number } | undefined;

/** Arms one fault point of this thread. `fault`: `NAME`, or `NAME:N` to kill the process at the Nth call of `faultPoint`. */
export function armFault(fault: string | undefined): void {
  if (fault === undefined) return;
  const [name = "", nth = "1"] = fault.split(":");
  armed = { name, left: Number(nth) };
}

/** Kills the process if this fault point is armed. After SIGKILL no code runs, as in a power cut. */
export function faultPoint(name: string): void {
  if (armed?.name !== name) return;
  armed.left -= 1;
  if (armed.left <= 0) process.kill(process.pid, "SIGKILL");
}
