/** Refusal by a tool of the coordination log, or invalid input. A command prints it like upstream and exits with 1. */
export class Refused extends Error {}
