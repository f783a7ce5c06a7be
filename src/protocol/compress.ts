/** Wire types of `mempalace compress`, which summarises drawers in AAAK. */

export type NamePair = [name: string, code: string];

/** Summary of one drawer. The token counts are estimates, made as upstream makes them; `originalChars` and `chars` count code points. */
export type CompressedDrawer = {
  id: string;
  wing: string;
  room: string;
  sourceFile: string;
  summary: string;
  originalTokens: number;
  tokens: number;
  ratio: number;
  originalChars: number;
  chars: number;
};

/** Previews summaries page by page, in the order in which the drawers were filed. */
export type CompressPreview = {
  params: { wing?: string; offset: number; names?: NamePair[] };
  result: { total: number; drawers: CompressedDrawer[] };
};

/** Stores each summary as a closet with the drawer's id, as upstream's command does. Skips deleted drawers. */
export type Compress = { params: { ids: string[]; names?: NamePair[] }; result: { stored: number } };
