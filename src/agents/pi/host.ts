/** Types for the part of pi's extension API that we use, as in versions 0.87 and 1.5. pi passes the API object to the extension. */
export type PiContext = {
  cwd: string;
  ui?: { notify?: (text: string, kind?: string) => void };
  sessionManager: {
    getSessionId(): string;
    getSessionFile(): string | undefined;
    getEntries(): readonly { type: string; customType?: string }[];
  };
  /** False in print mode and in JSON mode. */
  hasUI?: boolean;
  isIdle?(): boolean;
  isProjectTrusted?(): boolean;
  waitForIdle?(): Promise<void>;
};

export type PiTool = {
  name: string;
  label: string;
  description: string;
  parameters: Record<string, unknown>;
  execute(
    id: string,
    params: unknown,
    signal?: AbortSignal,
  ): Promise<{ content: { type: string; text?: string }[]; details: unknown }>;
};

export type PiMessage = { customType: string; content: string; display: boolean };

/** `prompt` occurs only in before_agent_start. `messages` occurs only in agent_end, with the messages of the run. */
export type PiEvent = {
  reason?: string;
  prompt?: string;
  messages?: readonly PiRunMessage[];
};

/** `toolCallId` and `isError` occur only in a tool's result. */
export type PiRunMessage = {
  role?: string;
  content?: unknown;
  stopReason?: string;
  toolCallId?: string;
  isError?: boolean;
};

export type Pi = {
  on(event: string, handler: (event: PiEvent, ctx: PiContext) => Promise<{ message?: PiMessage } | void>): void;
  registerTool(tool: PiTool): void;
  registerCommand(
    name: string,
    command: { description: string; handler: (args: string, ctx: PiContext) => Promise<void> },
  ): void;
  sendUserMessage(text: string, options?: { deliverAs: "followUp" }): void;
  getAllTools?(): readonly { name: string }[];
  /** Present in pi 1.x, which has its own MCP client. */
  registerMcpServer?: unknown;
};
