/** Steps of scenarios that change and apply the configuration over the API. */
import assert from 'node:assert/strict';
import { AppliesReply, ApplyReply } from '@offhook/contract/config-applies.ts';
import type { ConfigApply } from '@offhook/contract/config-applies.ts';
import type { Site } from './site.ts';
import { until } from './until.ts';

/** A slow machine may exceed the five minutes of a confirmation. */
async function confirm(site: Site, token: string): Promise<void> {
  const password = (await site.credentials()).find((one) => one.extension === '1001')?.password;
  await fetch(`${site.base}/api/v1/session/confirm`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ password }),
  });
}
/** A request of the administrator; the reply's body. */
export async function ask(
  site: Site,
  method: string,
  path: string,
  body?: object,
  again = true,
): Promise<unknown> {
  const { token } = await site.person('1001');
  const response = await fetch(`${site.base}/api/v1/config${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (again && response.status === 403 && text.includes('confirmation_required')) {
    await confirm(site, token);
    return await ask(site, method, path, body, false);
  }
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text) as unknown;
}
export const begin = async (site: Site, body: object = {}, path = '/applies'): Promise<ConfigApply> =>
  ApplyReply.parse(await ask(site, 'POST', path, body)).apply;
/** Applies the draft, or the path's operation; returns the finished apply. */
export async function apply(site: Site, body: object = {}, path = '/applies'): Promise<ConfigApply> {
  const { id } = await begin(site, body, path);
  let last: ConfigApply | undefined;
  return await until(
    'the end of the apply',
    async () => {
      last = ApplyReply.parse(await ask(site, 'GET', `/applies/${id}`)).apply;
      return last.finished_at === null ? undefined : last;
    },
    { ms: 60_000, every: 20, seen: () => ({ last }) },
  );
}
export const newest = async (site: Site): Promise<ConfigApply> =>
  AppliesReply.parse(await ask(site, 'GET', '/applies?limit=1')).applies[0]!;
/** The engine's configuration, without values that change by themselves. */
export async function held(site: Site): Promise<readonly string[]> {
  const shown: string[] = [];
  for (const command of ['pjsip show endpoints', 'queue show', 'dialplan show']) {
    const text = await site.engineCli(command);
    shown.push(
      ...text
        .replaceAll(/\d+s\b|\b\d+ secs? ago|has taken \w+ calls[^\n]*|\([^)\n]*login[^)\n]*\)/g, '')
        .split('\n')
        .filter((line) => !/^\s*(Contact|Channel|Exten):/.test(line))
        .map((line) => `${command}: ${line.trim()}`)
        .sort((a, b) => (a < b ? -1 : 1)),
    );
  }
  return shown;
}
