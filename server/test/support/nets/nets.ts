/** A public net with an office and a home behind a NAT each, in network namespaces that end with the test. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import os from 'node:os';
import path from 'node:path';
import { obtainPackages } from '../../../src/adapters/asterisk/provision/packages.ts';

/** Addresses of RFC 5737 outside, of RFC 1918 behind the gateways. */
export const ADDRESSES = {
  provider: '203.0.113.1',
  officeGateway: '203.0.113.10',
  homeGateway: '203.0.113.20',
  office: '192.168.10.2',
  home: '192.168.20.2',
} as const;
/** Of IPv6, which passes the gateways as it is; networks of RFC 3849. */
export const ADDRESSES_V6 = { office: '2001:db8:10::2', home: '2001:db8:20::2' } as const;
export type Net = 'public' | 'office' | 'home';
/** Command that runs a program in one of the nets. */
export const inNet = (net: Net, ...command: readonly string[]): string[] => [
  'ip',
  'netns',
  'exec',
  net,
  ...command,
];

const INSIDE = 'TEST_NETS';
/** Commands of nftables and coturn, as JSON. */
const [NFT, COTURN] = ['TEST_NETS_NFT', 'TEST_NETS_COTURN'];
/** Command of coturn. */
export const coturn = (): string[] => JSON.parse(process.env[COTURN] ?? '[]') as string[];
/** Whether this process runs in the office; else `runInNets` runs the file there. */
export const isInside = process.env[INSIDE] === 'office';

/** Reason why no nets can be made here, as in containers and where the system forbids it; false where they can. */
export const noNets = (): string | false =>
  spawnSync('unshare', ['-Urnm', 'true']).status === 0
    ? false
    : 'this machine lets no program make network namespaces (unshare -Urnm)';

/** Runs this test file again in the office of new nets; returns its exit code and what it wrote. */
export async function runInNets(file: string): Promise<{ readonly code: number; readonly out: string }> {
  const cache = process.env['OFFHOOK_CACHE'] ?? path.join(os.homedir(), '.cache', 'offhook');
  const tree = await obtainPackages({ cache, packages: ['nftables'] });
  // Inside nothing can be downloaded.
  const turn = await obtainPackages({ cache, packages: ['coturn'] });
  const { NODE_TEST_CONTEXT: _outer, ...env } = process.env;
  const child = spawn(
    'unshare',
    ['-Urnm', '--kill-child', '--fork', process.execPath, import.meta.filename, file],
    {
      env: {
        ...env,
        [NFT]: JSON.stringify(tree.command('usr/sbin/nft')),
        [COTURN]: JSON.stringify(turn.command('usr/bin/turnserver')),
        OFFHOOK_CACHE: cache,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let out = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (out = (out + chunk.toString('utf8')).slice(-100_000)));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code: code ?? -1, out };
}

function run(command: readonly string[], input = ''): string {
  const [program = '', ...args] = command;
  const done = spawnSync(program, args, { input, encoding: 'utf8', maxBuffer: 16 << 20 });
  if (done.error) throw done.error;
  if (done.status !== 0) throw new Error(`${command.join(' ')}: ${done.stderr || done.stdout}`);
  return done.stdout;
}
const ip = (text: string): string => run(['ip', ...text.split(' ')]);

interface Gateway {
  readonly net: 'office' | 'home';
  readonly outside: string;
  /** First three bytes of the net behind it, and its last group in IPv6. */
  readonly inside: string;
  readonly group: number;
  readonly other: number;
}
/** A namespace that routes between the bridge outside and a net of its own. */
function addGateway({ net, outside, inside, group, other }: Gateway): void {
  const gateway = `${net}-gateway`;
  for (const name of [gateway, net]) {
    ip(`netns add ${name}`);
    ip(`-n ${name} link set lo up`);
  }
  ip(`link add ${net}-out netns public type veth peer name wan netns ${gateway}`);
  ip(`-n public link set ${net}-out master bridge up`);
  ip(`-n ${gateway} addr add ${outside}/24 dev wan`);
  ip(`-n ${gateway} link set wan up`);
  ip(`link add lan netns ${gateway} type veth peer name lan netns ${net}`);
  ip(`-n ${gateway} addr add ${inside}.1/24 dev lan`);
  ip(`-n ${gateway} link set lan up`);
  ip(`-n ${net} addr add ${inside}.2/24 dev lan`);
  ip(`-n ${net} link set lan up`);
  ip(`-n ${net} route add default via ${inside}.1`);
  ip(`-n ${gateway} addr add 2001:db8::${group}/64 dev wan nodad`);
  ip(`-n ${gateway} addr add 2001:db8:${group}::1/64 dev lan nodad`);
  ip(`-n ${gateway} route add 2001:db8:${other}::/64 via 2001:db8::${other}`);
  ip(`-n ${net} addr add 2001:db8:${group}::2/64 dev lan nodad`);
  ip(`-n ${net} route add default via 2001:db8:${group}::1`);
  const forward = ['net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1'];
  run(['ip', 'netns', 'exec', gateway, 'sysctl', '-qw', ...forward]);
}
/** Command of nftables. */
export const nftCommand = (): readonly string[] => JSON.parse(process.env[NFT] ?? '[]') as string[];
/** Runs nftables in a namespace; `rules` are its standard input. Returns what it prints. */
export const nftIn = (namespace: string, args: readonly string[], rules = ''): string =>
  run(['ip', 'netns', 'exec', namespace, ...nftCommand(), ...args], rules);
/** Ports that the router of the home drops, e.g. `udp dport 5060`, of IPv4 or IPv6 (`ip6`); an empty rule drops nothing. */
export function blockAtHome(rule: string, family: 'ip' | 'ip6' = 'ip'): void {
  nftIn('home-gateway', ['flush', 'chain', family, 'filter', 'blocked']);
  if (rule !== '')
    nftIn('home-gateway', ['add', 'rule', family, 'filter', 'blocked', ...rule.split(' '), 'drop']);
}
/** Whether the home has IPv6. */
export function giveHomeIPv6(given: boolean): void {
  ip(`-n home route ${given ? 'add' : 'del'} default via 2001:db8:20::1`);
}
/** Second address of the office, which its provider gives it later. */
export const NEXT_ADDRESS = '203.0.113.11';
/** From now on the office is at another address; flows that are there keep the one before until it is dropped. */
export function moveOffice(): void {
  ip(`-n office-gateway addr add ${NEXT_ADDRESS}/24 dev wan`);
  nftIn('office-gateway', ['flush', 'chain', 'ip', 'nat', 'out']);
  const snat = `oifname wan snat to ${NEXT_ADDRESS}`;
  nftIn('office-gateway', ['add', 'rule', 'ip', 'nat', 'out', ...snat.split(' ')]);
}
/** Nothing reaches the office at its first address any more. */
export function dropFormerAddress(): void {
  nftIn(
    'office-gateway',
    ['-f', '-'],
    `table ip gone {
  chain in { type filter hook prerouting priority -300; ip daddr ${ADDRESSES.officeGateway} drop; }
}
`,
  );
}
/** The router of the home forgets all flows, as after a restart: each goes on from another port. */
export function rebindHome(): void {
  ip('-n home-gateway link set wan down');
  ip('-n home-gateway link set wan up');
}
/** Notes the ports of the home's router from which G.711 media comes to the office. */
export const watchMediaPorts = (): string =>
  nftIn(
    'office-gateway',
    ['-f', '-'],
    `table ip media {
  set ports { typeof udp sport; flags dynamic; size 65535; }
  chain in {
    type filter hook prerouting priority -300;
    ip saddr ${ADDRESSES.homeGateway} udp length 180 add @ports { udp sport }
  }
}
`,
  );
export function mediaPorts(): readonly number[] {
  const { nftables } = JSON.parse(nftIn('office-gateway', ['-j', 'list', 'set', 'ip', 'media', 'ports'])) as {
    nftables: readonly { readonly set?: { readonly elem?: readonly number[] } }[];
  };
  return nftables.flatMap(({ set }) => set?.elem ?? []);
}
/** Whether UDP leaves the home; a firewall that drops it is the usual one of hotels and offices. */
export const letUdpOut = (allowed: boolean): void => blockAtHome(allowed ? '' : 'meta l4proto udp');

/** The office passes everything on to its machine; the home lets nothing in and gives each flow a port at random. */
const RULES = {
  office: `table ip nat {
  chain in { type nat hook prerouting priority -100; iifname "wan" dnat to ${ADDRESSES.office}; }
  chain out { type nat hook postrouting priority 100; oifname "wan" masquerade; }
}
`,
  home: `table ip nat {
  chain out { type nat hook postrouting priority 100; oifname "wan" masquerade random; }
}
table ip filter {
  chain blocked { type filter hook forward priority -10; }
  chain through { type filter hook forward priority 0; policy drop; iifname "lan" accept; ct state established,related accept; }
}
table ip6 filter {
  chain blocked { type filter hook forward priority -10; }
}
`,
} as const;

/** Builds the nets in the namespace of this process. */
function build(): void {
  run(['mount', '-t', 'tmpfs', 'tmpfs', '/run']);
  ip('netns add public');
  ip('-n public link set lo up');
  ip('-n public link add bridge type bridge');
  ip(`-n public addr add ${ADDRESSES.provider}/24 dev bridge`);
  ip('-n public link set bridge up');
  const [office, home] = [10, 20];
  addGateway({
    net: 'office',
    outside: ADDRESSES.officeGateway,
    inside: '192.168.10',
    group: office,
    other: home,
  });
  addGateway({
    net: 'home',
    outside: ADDRESSES.homeGateway,
    inside: '192.168.20',
    group: home,
    other: office,
  });
  for (const net of ['office', 'home'] as const) nftIn(`${net}-gateway`, ['-f', '-'], RULES[net]);
}

if (import.meta.main) {
  const [, , file = ''] = process.argv;
  build();
  const [program = '', ...args] = inNet('office', process.execPath, file);
  const done = spawnSync(program, args, { env: { ...process.env, [INSIDE]: 'office' }, stdio: 'inherit' });
  process.exitCode = done.status ?? 1;
}
