/** Error: a tool of the coordination log refused a call, or the input is invalid. A command prints the message and exits with 1. */
export class Refused extends Error {}
