import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Log } from '../core/log.ts';
import { consoleRoutes } from '../features/console/routes.ts';
import type { App } from '../ports/http.ts';

/** Where `npm run build` writes the console. */
const CONSOLE = path.resolve(import.meta.dirname, '../../../console/dist');

export function addConsole(app: App, log: Log): void {
  if (existsSync(path.join(CONSOLE, 'console.json'))) consoleRoutes(app, { folder: CONSOLE });
  else log.warn({ folder: CONSOLE }, 'the console is not built: npm run build');
}
