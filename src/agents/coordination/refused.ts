/** A tool of the coordination log refused a call, or the input is invalid. A command prints that and exits with 1. */
export class Refused extends Error {}
