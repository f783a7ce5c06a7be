/** Summaries of drawers in AAAK, as `mempalace compress` asks for them: the shapes on the wire. Part of spec.ts. */

/** Names have codes of their own in summaries. */
export type NamePair = [name: string, code: string];

/** `tokens` are upstream's estimate, `chars` code points. */
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

/** Previews summaries page by page, in the order the drawers were filed. */
export type CompressPreview = {
  params: { wing?: string; offset: number; names?: NamePair[] };
  result: { total: number; drawers: CompressedDrawer[] };
};

/** Files the summaries beside the drawers' closets, where upstream's command does. */
export type Compress = { params: { ids: string[]; names?: NamePair[] }; result: { stored: number } };
