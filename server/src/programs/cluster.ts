/**
 * `npm run cluster -- <command>`, for the site in OFFHOOK_DATABASE_URL: `status` shows its nodes; `switch <node>`
 * passes the site to a standby and waits until it leads; `drain <node> [minutes]` has a node pass the site on without
 * cutting a call, and waits; `undrain <node>` ends that; `try` runs a site of several nodes on this machine until
 * Ctrl-C. The exit code is 1 if the command failed, 2 for wrong usage.
 */
import type { SiteNodes } from '../ports/site-nodes.ts';
import { openPostgresSiteNodes } from '../adapters/postgres/site-nodes.ts';
import { SETTINGS } from '../boot/settings.ts';
import { drainNode, endDrain, nodeLines, switchTo } from '../boot/nodes.ts';
import { tryCluster } from '../boot/try-cluster.ts';
import { systemClock } from '../core/clock.ts';
import { messageOf } from '../core/errors.ts';

const USAGE = `Usage: npm run cluster -- <command>, with OFFHOOK_DATABASE_URL of the site
  status                  the nodes, and which one leads
  switch <node>           pass the site to this standby now
  drain <node> [minutes]  pass the site on at a moment without a call, in 30 minutes at the latest, and stay out
  undrain <node>          let the node lead again
  try                     run a site of several nodes on this machine (no database needed)`;
const DRAIN_MINUTES = 30;
const MOST_MINUTES = 24 * 60;

async function ofSite(url: string, work: (nodes: SiteNodes) => Promise<void>): Promise<void> {
  const nodes = openPostgresSiteNodes(url);
  try {
    await work(nodes);
    const all = await nodes.list();
    console.log(
      all.length === 0 ? 'No node has reported; OFFHOOK_NODE names one.' : nodeLines(all).join('\n'),
    );
  } finally {
    await nodes.close();
  }
}
async function tried(): Promise<void> {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stop.abort(name));
  const print = (line: string): void => console.log(`  ${line}`);
  await tryCluster({ signal: stop.signal, print }).catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  print('Stopped.');
}
/** Null for wrong usage. */
function workOf([command, node, minutes, ...more]: readonly string[]):
  | ((nodes: SiteNodes) => Promise<void>)
  | null {
  if (more.length > 0 || (minutes !== undefined && command !== 'drain')) return null;
  if (node === undefined) return command === 'status' ? () => Promise.resolve() : null;
  if (command === 'switch') return (nodes) => switchTo(nodes, node, systemClock);
  if (command === 'undrain') return (nodes) => endDrain(nodes, node);
  if (command !== 'drain') return null;
  const limit = minutes === undefined ? DRAIN_MINUTES : /^\d{1,4}$/.test(minutes) ? Number(minutes) : NaN;
  if (!(limit <= MOST_MINUTES)) return null;
  const options = { seconds: limit * 60, clock: systemClock, print: (line: string) => console.log(line) };
  return (nodes) => drainNode(nodes, node, options);
}

const setting = SETTINGS.databaseUrl;
const url = setting.parse(process.env[setting.name] ?? '');
const args = process.argv.slice(2);
const work = workOf(args);
try {
  if (args.length === 1 && args[0] === 'try') await tried();
  else if (work !== null && url != null) await ofSite(url, work);
  else {
    console.error(USAGE);
    process.exitCode = 2;
  }
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
