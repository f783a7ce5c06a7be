/** Thrown if a tool of the coordination log refuses a call, or if the input is invalid. A command prints the message and exits with 1. */
export class Refused extends Error {}
