/** The hooks that we add to Claude Code. Used by agent-files.ts. */

/** Events of a session at which `palace hook claude-code` runs; agents/claude/events.ts answers each. */
export const HOOK_EVENTS = ["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"];
/** Timeout of a hook. Without it, Claude Code cancels a SessionEnd hook after 1.5 s. */
export const HOOK_TIMEOUT_S = 10;
