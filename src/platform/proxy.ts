/**
 * The way out through a proxy: what this process asks of https addresses goes through it, http and sockets do not: those are Chroma
 * servers and brokers of one's own. Called once by the broker's entry point. Source: Node's http.setGlobalProxyFromEnv, 24.14.
 */
import http from "node:http";

export type ProxySettings = Readonly<{
  /** http://HOST:PORT */
  https: string;
  /** Hosts that are asked directly, as NO_PROXY spells them. */
  except: string | undefined;
}>;

/** A Node that is too old for it goes out directly, as before. */
export function useProxy({ https, except }: ProxySettings): void {
  const { setGlobalProxyFromEnv } = http as Partial<typeof http>;
  setGlobalProxyFromEnv?.({ https_proxy: https, ...(except !== undefined && { no_proxy: except }) });
}
