/** The line that wakes an agent for a task: what task_create answers, and what `task launch` gives an agent. It begins as 3.11's. */
export function handoff(correlationId: string, agent: string): string {
  return (
    `Open MemPalace task ${correlationId} as ${agent}. List its events, acknowledge the request as claimed, ` +
    "work to its definition of done, and answer in the same stream."
  );
}
