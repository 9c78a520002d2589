/** A site in the net of an office, and the doctor that tries its ways from a home, for tests inside these nets. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { before } from 'node:test';
import { extensions, prepareCompany } from './company.ts';
import { ADDRESSES, blockAtHome, inNet } from './nets/nets.ts';
import { freePort, freeRange } from './ports.ts';
import { REPOSITORY } from './sources.ts';
import { PATIENCE_MS } from './until.ts';
import { useSite } from './use-site.ts';

const DOCTOR = path.join(REPOSITORY, 'server/src/programs/doctor-cli.ts');
const RELAY_PORTS = 40;
/** A busy exchange answers a way at the second try only, and the way works (`findingOf`). */
const SECOND_TRY = /, at the second try: the first had no answer in \d+ s/g;

interface Ended {
  readonly code: number;
  readonly text: string;
}
const run = (command: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> =>
  new Promise((done) => {
    const [program = '', ...args] = command;
    execFile(
      program,
      args,
      { env: { ...process.env, ...env }, timeout: 5 * PATIENCE_MS },
      (error, stdout, stderr) => done({ code: Number(error?.code ?? 0), text: stdout + stderr }),
    );
  });
/** Ports of TLS, TURN, its relays and HTTPS that are free here. */
export async function doctorPorts() {
  const [tls, turn, https] = [await freePort(), await freePort(), await freePort()];
  return { tls, turn, https, relay: await freeRange(RELAY_PORTS) };
}
/** Serves the site for all tests of the file. `https`: host of its HTTPS; `rules`: of which family the router of the home drops packets. */
export function useDoctor(
  ports: Awaited<ReturnType<typeof doctorPorts>>,
  {
    https,
    env = {},
    rules = 'ip',
  }: {
    readonly https: string;
    readonly env?: Readonly<Record<string, string>>;
    readonly rules?: 'ip' | 'ip6';
  },
) {
  const listen = `${https}:${ports.https}`;
  const site = useSite(() => ({
    host: ADDRESSES.office,
    env: { ...env, OFFHOOK_HTTPS_LISTEN: listen },
    prepare: prepareCompany({
      people: extensions(2001, 2002),
      objects: {
        network: [
          {
            name: 'site',
            external_address: ADDRESSES.officeGateway,
            ice_hosts: [{ local: ADDRESSES.office, external: ADDRESSES.officeGateway, keep_local: true }],
            local_nets: ['192.168.10.0/24', '127.0.0.0/8'],
            tls_port: ports.tls,
            turn_port: ports.turn,
            turn_relay_ports: { from: ports.relay, to: ports.relay + RELAY_PORTS - 1 },
          },
        ],
      },
    }),
  }));
  const passFile = (): string => path.join(site().dataDir, 'pass.json');
  let rtp = '';
  /** Prints the pass with which the doctor at home tries the ways, of this host where one is given. */
  async function printPass(...host: readonly string[]): Promise<void> {
    const { code, text } = await run([process.execPath, DOCTOR, '--pass', ...host], {
      OFFHOOK_DATA: site().dataDir,
      OFFHOOK_LISTEN: new URL(site().base).host,
      OFFHOOK_HTTPS_LISTEN: listen,
    });
    assert.equal(code, 0, text);
    await writeFile(passFile(), text, { mode: 0o600 });
    ({ rtp } = JSON.parse(text) as { rtp: string });
  }
  const atHome = async (): Promise<Ended> => {
    const { code, text } = await run(inNet('home', process.execPath, DOCTOR, '--from', passFile()));
    return { code, text: text.replaceAll(SECOND_TRY, '') };
  };
  /** Lines of the ways that fail, while the router of the home drops what the rule matches. */
  async function failing(rule: string): Promise<readonly string[]> {
    blockAtHome(rule, rules);
    try {
      const { code, text } = await atHome();
      const tried = text.split('\n').filter((line) => /^(?:ok|FAIL) /.test(line));
      // Five of each family.
      assert.ok(tried.length > 0 && tried.length % 5 === 0, text);
      const failed = tried.filter((line) => line.startsWith('FAIL'));
      assert.equal(code, failed.length === 0 ? 0 : 1, text);
      return failed;
    } finally {
      blockAtHome('', rules);
    }
  }
  before(() => printPass());
  return { site, printPass, atHome, failing, rtp: () => rtp };
}
