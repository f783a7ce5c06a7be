/** Returns the prompt that starts an agent on a task. Its beginning is the same as in MemPalace 3.11. */
export function handoff(correlationId: string, agent: string): string {
  return (
    `Open MemPalace task ${correlationId} as ${agent}. List its events, acknowledge the request as claimed, ` +
    "work to its definition of done, and answer in the same stream."
  );
}
