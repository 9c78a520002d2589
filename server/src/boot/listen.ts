/** Listeners of every node with clients: HTTP at its address, the console, and the metrics on their own port. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { messageOf } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { consoleRoutes } from '../features/console/routes.ts';
import { listenMetrics } from '../http/health.ts';
import type { Host } from '../http/host.ts';
import type { App } from '../ports/http.ts';
import { SETTINGS } from './settings.ts';
import { ConfigError } from './config.ts';
import type { Address } from './setting-values.ts';
import type { Config } from './config.ts';

/** Output folder of `npm run build` for the console. */
const CONSOLE = path.resolve(import.meta.dirname, '../../../console/dist');

export function addConsole(app: App, log: Log): void {
  if (existsSync(path.join(CONSOLE, 'console.json'))) consoleRoutes(app, { folder: CONSOLE });
  else log.warn({ folder: CONSOLE }, 'the console is not built: npm run build');
}
/** Resolves when HTTP listens, until `stack` is disposed. Throws `ConfigError` where the address is not available. */
export async function listenHttp(
  host: Host,
  { listen }: Pick<Config, 'listen'>,
  stack: AsyncDisposableStack,
): Promise<Address> {
  const address = await host.listen(listen).catch((error: unknown) => {
    throw new ConfigError(
      `${SETTINGS.listen.name}=${listen.host}:${listen.port}: expected an address that is free; ${messageOf(error)}`,
    );
  });
  stack.defer(async () => {
    host.drain();
    await host.close();
  });
  return address;
}
/** Serves health and metrics until `stack` is disposed, where the settings name an address for them. */
export async function serveMetrics(
  { metricsListen }: Pick<Config, 'metricsListen'>,
  health: Parameters<typeof listenMetrics>[1],
  log: Log,
  stack: AsyncDisposableStack,
): Promise<void> {
  if (metricsListen === null) return;
  const listener = await listenMetrics(metricsListen, health, log);
  stack.defer(() => listener.close());
}
