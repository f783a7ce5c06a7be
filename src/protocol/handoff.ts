/** The line that wakes an agent for a task: what task_create answers, and what `task launch` gives an agent. */
export function handoff(correlationId: string, agent: string): string {
  return (
    `MemPalace task ${correlationId} is for you, ${agent}: list its events, acknowledge the request as claimed, ` +
    "work to its definition of done, and answer in the same stream."
  );
}
