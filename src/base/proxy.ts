/** Sends this process's https requests through a proxy, with Node's http.setGlobalProxyFromEnv (24.14). */
import http from "node:http";

export type ProxySettings = Readonly<{
  /** http://HOST:PORT */
  https: string;
  /** Hosts to reach directly, in the format of NO_PROXY. */
  except: string | undefined;
}>;

/** Sends https through the proxy; with an older Node it stays direct. http stays direct for the user's own Chroma servers and brokers. */
export function useProxy({ https, except }: ProxySettings): void {
  const { setGlobalProxyFromEnv } = http as Partial<typeof http>;
  setGlobalProxyFromEnv?.({ https_proxy: https, ...(except !== undefined && { no_proxy: except }) });
}
