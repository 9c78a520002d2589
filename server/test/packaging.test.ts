/** The files for operators fit the program: settings, metrics and units are ones that exist. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parse as parseYaml } from 'yaml';
import { SETTINGS } from '../src/boot/settings.ts';
import { readConfig } from '../src/boot/config.ts';
import { createMetrics } from '../src/http/metrics.ts';
import { REPOSITORY } from './support/sources.ts';

const PACKAGING = path.join(REPOSITORY, 'packaging');
const read = (...names: string[]): string => fs.readFileSync(path.join(REPOSITORY, ...names), 'utf8');
type Env = Readonly<Record<string, string>>;

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      { readonly environment?: Env; readonly volumes?: readonly string[]; readonly depends_on?: object }
    >
  >;
  readonly volumes?: Readonly<Record<string, null>>;
}
/** Replaces `${NAME:-default}` as compose does where nothing is set. */
const unset = (text: string): string => text.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1');
const composeOf = (...names: string[]): Compose => parseYaml(read(...names), { merge: true }) as Compose;
const settingsOf = (env: Env): Env =>
  Object.fromEntries(Object.entries(env).map(([name, value]) => [name, unset(value)]));
/** The settings of a file of `EnvironmentFile=`. */
const envFile = (text: string): Env =>
  Object.fromEntries(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const at = line.indexOf('=');
        return [line.slice(0, at), line.slice(at + 1)];
      }),
  );
const NAMES: ReadonlySet<string> = new Set(Object.values(SETTINGS).map(({ name }) => name));

test('packaging - compose files: each setting is one, the service takes their values, and volumes exist', () => {
  let checked = 0;
  for (const names of [['compose.yaml'], ['packaging', 'cluster', 'compose.yaml']]) {
    const { services, volumes = {} } = composeOf(...names);
    for (const [name, { environment = {}, volumes: mounted = [] }] of Object.entries(services)) {
      for (const one of mounted)
        assert.ok(one.split(':')[0]! in volumes, `${names.join('/')} ${name} ${one}`);
      if (['database', 'nats', 'load-balancer'].includes(name)) continue;
      readConfig({ OFFHOOK_DATA: '/data', ...settingsOf(environment) });
      checked += Object.keys(environment).length;
    }
  }
  assert.ok(checked > 50);
});
test('packaging - the cluster has two engine nodes and three web nodes, in compose and in the settings of units', () => {
  const inCompose = Object.values(composeOf('packaging', 'cluster', 'compose.yaml').services).map(
    ({ environment = {} }) => settingsOf(environment),
  );
  const folder = path.join(PACKAGING, 'cluster');
  const inFiles = fs
    .readdirSync(folder)
    .filter((name) => name.endsWith('.env'))
    .map((name) => envFile(fs.readFileSync(path.join(folder, name), 'utf8')));
  for (const all of [inCompose, inFiles]) {
    const nodes = all.filter((env) => 'OFFHOOK_NODE' in env);
    const engines = nodes.filter((env) => env['OFFHOOK_NODE_ROLE'] !== 'web');
    assert.deepEqual([engines.length, nodes.length], [2, 5]);
    const configs = nodes.map((env) => readConfig({ OFFHOOK_DATA: '/data', ...env }));
    assert.equal(new Set(configs.map(({ node }) => node)).size, 5);
    const at = (one: { readonly host: string; readonly port: number }): string => `${one.host}:${one.port}`;
    assert.equal(new Set(configs.map(({ listen }) => at(listen))).size, 5);
    assert.equal(new Set(configs.map(({ databaseUrl }) => databaseUrl)).size, 1);
    const buses = configs.map(({ nats }) => nats?.split('@').at(-1));
    assert.deepEqual([new Set(buses).size, typeof buses[0]], [1, 'string']);
    const proxy = readConfig({
      OFFHOOK_DATA: '/data',
      ...all.find((env) => 'OFFHOOK_SIP_PROXY_NODES' in env),
    });
    const engineConfigs = configs.filter(({ nodeRole }) => nodeRole === 'engine');
    assert.deepEqual(
      proxy.sipProxyNodes.map(({ sip, url }) => `${at(sip)} ${url}`),
      engineConfigs.map(({ sipListen, listen }) => `${at(sipListen)} http://${at(listen)}`),
    );
    for (const { sipProxies, sharedFiles } of engineConfigs)
      assert.deepEqual([sipProxies.map(at), sharedFiles !== null], [[at(proxy.sipListen)], true]);
  }
});
test('packaging - the load balancer asks /readyz of each web node', () => {
  const config = read('packaging', 'cluster', 'haproxy.cfg');
  assert.match(config, /option httpchk GET \/readyz\n/);
  const servers = [...config.matchAll(/server (w\d) (\S+)/g)].map(([, name, at]) => `${name} ${at}`);
  const nodes = ['1', '2', '3'].map((n) => envFile(read('packaging', 'cluster', `web-${n}.env`)));
  assert.deepEqual(
    servers,
    nodes.map((env) => `${env['OFFHOOK_NODE']} ${env['OFFHOOK_LISTEN']}`),
  );
});
test('packaging - units: settings in them exist, and systemd takes them', (t) => {
  const units = fs.readdirSync(PACKAGING).filter((name) => name.endsWith('.service'));
  assert.equal(units.length, 2);
  for (const name of units) {
    const text = read('packaging', name);
    for (const [found] of text.matchAll(/\bOFFHOOK_[A-Z_]+/g))
      assert.ok(NAMES.has(found), `${name} ${found}`);
    const [, script = ''] = /^ExecStart=\/usr\/bin\/env node scripts\/start\.mjs (\S+)$/m.exec(text) ?? [];
    assert.match(read('package.json'), new RegExp(`start\\.mjs ${script}"`));
  }
  const files = units.map((name) => path.join(PACKAGING, name));
  const { status, error, stderr } = spawnSync('systemd-analyze', ['verify', ...files], { encoding: 'utf8' });
  if (error === undefined) assert.equal(`${status} ${stderr}`.trim(), '0');
  else t.diagnostic('this machine has no systemd-analyze');
});

interface Panel {
  readonly title: string;
  readonly gridPos: { readonly w: number; readonly x: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}
/** Labels of each metric of the service and the SIP proxy, by name. */
async function metricsInCode(): Promise<Map<string, readonly string[]>> {
  const found = new Map<string, readonly string[]>();
  for (const { name } of createMetrics().registry.getMetricsAsArray()) found.set(name, []);
  const text = (name: string): string => fs.readFileSync(path.join(REPOSITORY, 'server/src', name), 'utf8');
  const files = fs
    .readdirSync(path.join(REPOSITORY, 'server/src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  for (const all of files.map(text)) {
    for (const [, name = ''] of all.matchAll(/gauge\(\s*'(offhook_\w+)'/g)) found.set(name, []);
    for (const [, name = '', label = ''] of all.matchAll(
      /gaugeBy\(\s*'(offhook_\w+)',\s*'[^']*',\s*'(\w+)'/g,
    ))
      found.set(name, [label]);
  }
  found.set('offhook_http_requests_total', ['route', 'method', 'status']);
  found.set('offhook_http_request_seconds_bucket', ['route', 'le']);
  return found;
}
test('packaging - each metric of the dashboard exists, with the labels that it is shown by', async () => {
  const { panels } = JSON.parse(read('packaging', 'grafana', 'offhook.json')) as {
    readonly panels: readonly Panel[];
  };
  const known = await metricsInCode();
  const used = new Set<string>();
  for (const { title, targets = [], gridPos } of panels) {
    assert.ok(gridPos.x + gridPos.w <= 24, title);
    for (const { expr, legendFormat } of targets) {
      const names = expr.match(/\b(?:offhook|process|nodejs)_\w+/g) ?? [];
      assert.ok(names.length > 0, title);
      for (const name of names) {
        assert.ok(known.has(name), `${title}: there is no metric ${name}`);
        used.add(name);
        const labels = ['instance', ...known.get(name)!];
        const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!);
        const summed = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(', '));
        for (const label of [...shown, ...summed])
          assert.ok(labels.includes(label), `${title}: ${name} has no label ${label}`);
      }
    }
  }
  assert.ok(used.size > 25);
});
