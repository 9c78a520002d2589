/**
 * `npm run cluster -- status` shows the engine nodes of the site in OFFHOOK_DATABASE_URL; `npm run cluster -- switch <node>` passes
 * the site to a standby and waits until it leads. The exit code is 1 where that failed, 2 for wrong usage.
 */
import { openPostgresSiteNodes } from '../adapters/postgres/site-nodes.ts';
import { SETTINGS } from '../boot/config.ts';
import { nodeLines, switchTo } from '../boot/nodes.ts';
import { systemClock } from '../core/clock.ts';
import { messageOf } from '../core/errors.ts';

const USAGE = 'Usage: npm run cluster -- status | switch <node>, with OFFHOOK_DATABASE_URL of the site';

const setting = SETTINGS.databaseUrl;
const url = setting.parse(process.env[setting.name] ?? '');
const [command, node, ...more] = process.argv.slice(2);
const known = (command === 'status' && node === undefined) || (command === 'switch' && node !== undefined);
if (url == null || !known || more.length > 0) {
  console.error(USAGE);
  process.exitCode = 2;
} else {
  const nodes = openPostgresSiteNodes(url);
  try {
    if (node !== undefined) await switchTo(nodes, node, systemClock);
    const all = await nodes.list();
    console.log(
      all.length === 0 ? 'No node has reported; OFFHOOK_NODE names one.' : nodeLines(all).join('\n'),
    );
  } catch (error) {
    console.error(messageOf(error));
    process.exitCode = 1;
  } finally {
    await nodes.close();
  }
}
