/** Returns the line that wakes an agent for a task, for `task_create` and `task launch`. The line begins like MemPalace 3.11's line. */
export function handoff(correlationId: string, agent: string): string {
  return (
    `Open MemPalace task ${correlationId} as ${agent}. List its events, acknowledge the request as claimed, ` +
    "work to its definition of done, and answer in the same stream."
  );
}
