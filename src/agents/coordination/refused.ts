/** A refusal by a tool of the coordination log, or invalid input. A command prints it as upstream does, exit code 1. */
export class Refused extends Error {}
