/** The hooks that a wired Claude Code gets. Used by agent-files.ts. */

/** The moments of a session at which `palace hook claude-code` runs; agents/claude/events.ts answers each. */
export const HOOK_EVENTS = ["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"];
/** Without this timeout, Claude Code cancels a SessionEnd hook after 1.5 s. */
export const HOOK_TIMEOUT_S = 10;
