/** Wire types of `mempalace compress`, which summarises drawers in AAAK. Part of spec.ts. */

export type NamePair = [name: string, code: string];

/** Summary of one drawer. `tokens`: estimated as upstream does. `chars`: code points. */
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

/** Files the summaries beside the drawers' closets, as upstream's command does. */
export type Compress = { params: { ids: string[]; names?: NamePair[] }; result: { stored: number } };
