/**
 * Sends this process's https requests through a proxy. http and sockets stay direct, because the user's own Chroma servers and brokers use
 * them. The broker's entry point calls it once. Source: Node's http.setGlobalProxyFromEnv, 24.14.
 */
import http from "node:http";

export type ProxySettings = Readonly<{
  /** http://HOST:PORT */
  https: string;
  /** Hosts to reach directly, in the format of NO_PROXY. */
  except: string | undefined;
}>;

/** Sends all https requests through the proxy. A Node version without this function connects directly. */
export function useProxy({ https, except }: ProxySettings): void {
  const { setGlobalProxyFromEnv } = http as Partial<typeof http>;
  setGlobalProxyFromEnv?.({ https_proxy: https, ...(except !== undefined && { no_proxy: except }) });
}
