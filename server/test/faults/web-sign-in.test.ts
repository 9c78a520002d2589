/** Second factor and displays at a web node: what the leading node decides holds there at once. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { totp } from '../../src/features/sessions/totp.ts';
import { fromBase32 } from '../support/base32.ts';
import { ApiError, signIn } from '../support/api.ts';
import type { Person } from '../support/api.ts';
import { startWebNode } from '../support/nodes.ts';
import { startPostgres } from '../support/postgres.ts';
import type { TestPostgres } from '../support/postgres.ts';
import { startSite } from '../support/site.ts';
import type { Site } from '../support/site.ts';
import { until } from '../support/until.ts';
import { UpgradeRefused, openWs } from '../support/ws-client.ts';
import type { WsClient } from '../support/ws-client.ts';

type Json = Record<string, unknown>;
const REFUSED = '403 second_factor_required';

describe('web nodes, sign-in', () => {
  let server: TestPostgres;
  let leader: Site;
  let web: Site;
  let boss: Person;
  before(async () => {
    server = await startPostgres();
    const url = await server.createDatabase();
    const settings = { OFFHOOK_DATABASE_URL: url, OFFHOOK_SITE_STORE: 'postgres', OFFHOOK_NODE: 'a' };
    leader = await startSite({ env: settings });
    web = await startWebNode('w1', url);
    boss = await signIn(web.base, '1001', await passwordOf('1001'));
  });
  after(async () => {
    await web?.[Symbol.asyncDispose]();
    await leader?.[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  const passwordOf = async (extension: string): Promise<string> =>
    (await leader.credentials()).find((one) => one.extension === extension)!.password;
  const ask = async (method: string, path: string, body?: object, token = boss.token) => {
    const response = await fetch(`${web.base}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return {
      status: response.status,
      etag: response.headers.get('etag') ?? '',
      body: (await response.json()) as Json,
    };
  };
  const open = (token: string, { base } = web) => openWs({ port: Number(new URL(base).port), token });
  /** Status and code of a refused stream; null of one that opens. */
  const refused = async (token: string, site: Pick<Site, 'base'> = web): Promise<string | null> => {
    try {
      await using client = await openWs({ port: Number(new URL(site.base).port), token });
      await client.next('hello');
      return null;
    } catch (error) {
      if (!(error instanceof UpgradeRefused)) throw error;
      return `${error.status} ${error.code}`;
    }
  };
  const require = async (second_factor: string): Promise<void> => {
    const { body } = await ask('GET', '/api/v1/settings/console');
    const { crm_link, confirm_supervision } = body['settings'] as Json;
    const settings = { crm_link, confirm_supervision, second_factor };
    const { status, body: answer } = await ask('PUT', '/api/v1/settings/console', settings);
    assert.equal(status, 200, JSON.stringify(answer));
  };
  /** Switches the second factor on through the web node; returns its digits of `step` half minutes from now. */
  const setUp = async (extension: string, token: string): Promise<(step?: number) => string> => {
    const current_password = await passwordOf(extension);
    const made = await ask('POST', '/api/v1/session/otp', { current_password }, token);
    assert.equal(made.status, 200, JSON.stringify(made.body));
    const secret = fromBase32(String(made.body['secret']));
    const digits = (step = 0): string => totp(secret, Math.floor(Date.now() / 30_000) + step);
    const on = await ask('POST', '/api/v1/session/otp/confirm', { otp: digits() }, token);
    assert.equal(on.status, 200, JSON.stringify(on.body));
    return digits;
  };
  /** Resolves once the web node has read what ended, begun after this call. */
  const looked = async (): Promise<void> => {
    const { token } = await signIn(web.base, '1003', await passwordOf('1003'));
    await using client = await open(token);
    await client.next('hello');
    await fetch(`${leader.base}/api/v1/session/logout`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{}',
    });
    await client.closed();
  };
  const isCode = (code: string) => (error: unknown) => error instanceof ApiError && error.code === code;

  test('second factor - required of a person, it keeps streams of a web node closed until it is set up, and no longer', async () => {
    const password = await passwordOf('1002');
    const { token } = await signIn(web.base, '1002', password);
    assert.equal(await refused(token), null);
    // Whoever requires it has it.
    await setUp('1001', boss.token);
    const streams = [await open(token), await open(token, leader)];
    await using stack = new AsyncDisposableStack();
    for (const one of streams) stack.use(one);
    await using kept = await open(boss.token, leader);
    await require('supervisor');
    for (const one of streams) {
      assert.ok((await one.next('reconnect', 15_000)).after_ms > 0);
      assert.equal((await one.closed()).code, 1012);
    }
    assert.equal(kept.close, null, 'who has the factor stays connected');
    let seen: unknown;
    await until('the stream to be refused', async () => (seen = await refused(token)) === REFUSED, {
      every: 200,
      seen: () => ({ seen }),
    });
    assert.equal(await refused(token, leader), REFUSED);
    assert.equal((await ask('GET', '/api/v1/agents', undefined, token)).status, 403);
    const digits = await setUp('1002', token);
    assert.equal(await refused(token), null, 'the stream opens at once');
    assert.equal((await ask('GET', '/api/v1/agents', undefined, token)).status, 200);

    await assert.rejects(signIn(web.base, '1002', password), isCode('otp_required'));
    const otp = digits(1);
    const login = (site: Site) =>
      fetch(`${site.base}/api/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ username: '1002', password, otp }),
      });
    assert.equal((await login(web)).status, 200);
    for (const site of [web, leader]) assert.equal((await login(site)).status, 401, 'digits count once');
    await require('off');
  });
  test('displays - a display key at a web node shows its board, follows its changes, and ends with it', async () => {
    const layout = {
      figures: ['waiting'],
      tiles: [],
      parts: ['queues', 'agents'],
      thresholds: [],
      columns: null,
      density: 'comfortable',
      caller_numbers: 'last_digits',
    };
    const board = { name: 'wall', queues: ['support'], layout, shared: false };
    const made = await ask('POST', '/api/v1/boards', board);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const { id } = (made.body['board'] ?? made.body) as { id: number };
    const keyed = await ask('POST', `/api/v1/boards/${id}/display-keys`, { name: 'hall', expires_at: null });
    assert.equal(keyed.status, 201, JSON.stringify(keyed.body));
    const { key, display_key } = keyed.body as { key: string; display_key: { id: number } };
    await using client = await open(key);
    await using direct = await openWs({ port: Number(new URL(leader.base).port), token: key });
    const shown: unknown[] = [];
    for (const one of [client, direct]) {
      one.send({ op: 'subscribe', id: 1, topics: ['queues', 'agents'], snapshot: true });
      await one.next('subscribed');
      const { data, topic } = await one.next('snapshot');
      // Ages and sums of seconds go on between both.
      const still = JSON.stringify(data, (name, value: unknown) => (/as_of|seconds/.test(name) ? 0 : value));
      shown.push({ topic, data: still });
    }
    assert.deepEqual(shown[0], shown[1]);
    assert.doesNotMatch(JSON.stringify(shown[0]), /sales/);
    await looked();
    assert.equal(client.close, null, 'a key that is a moment old is no changed one');
    const caller = await leader.phone('1007');
    await using stack = new AsyncDisposableStack();
    stack.use(caller);
    const call = await caller.invite('500');
    const events = (one: WsClient) =>
      one.frames.flatMap((frame) => (frame.op === 'event' ? [frame.event] : []));
    const waits = ({ type }: { readonly type: string }): boolean => type === 'queue.caller_joined';
    for (const one of [client, direct])
      await until('the caller', () => events(one).some(waits), {
        seen: () => events(one).map(({ type }) => type),
      });
    const joined = [client, direct].map((one) => events(one).find(waits));
    assert.deepEqual(joined[0], joined[1]);
    await call.hangup();

    const { etag } = await ask('GET', `/api/v1/boards/${id}`);
    const wider = await fetch(`${web.base}/api/v1/boards/${id}`, {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${boss.token}`,
        'content-type': 'application/json',
        'if-match': etag,
      },
      body: JSON.stringify({ ...board, queues: ['sales'] }),
    });
    assert.equal(wider.status, 200, await wider.text());
    await until('the end of the stream with the former queues', () => client.close !== null);
    await using again = await open(key);
    again.send({ op: 'subscribe', id: 1, topics: ['queues'], snapshot: true });
    const after = JSON.stringify(await again.next('snapshot'));
    assert.match(after, /"sales"/);
    assert.doesNotMatch(after, /"support"/);
    const { status } = await ask('DELETE', `/api/v1/boards/${id}/display-keys/${display_key.id}`);
    assert.equal(status, 200);
    await until('the end of the stream', () => again.close?.code === 4409, {
      seen: () => ({ close: again.close }),
    });
    assert.equal(await refused(key), '401 not_authenticated');
  });
});
