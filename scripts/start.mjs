// Runs every npm script: brings the dependencies up to date, then the command on the lockfile's Node. It must run on an old
// Node (18) with nothing installed, so it is plain JavaScript without imports of ours.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const MODULES = path.join(ROOT, 'node_modules');
const INSTALLED = path.join(MODULES, '.package-lock.json');
const NODE_FLOOR = [24, 12];
const NODE_PACKAGE = `node_modules/node-${process.platform}-${process.arch}`;
// npm 10 does not link it into node_modules/.bin, so it is run from its package folder.
const OWN_NODE = path.join(ROOT, NODE_PACKAGE, 'bin', 'node');
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'];

class Failure extends Error {}
const say = (line) => process.stderr.write(`offhook: ${line}\n`);

const readJson = (file) => {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
};
const newEnough = (version) => {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  return major > NODE_FLOOR[0] || (major === NODE_FLOOR[0] && minor >= NODE_FLOOR[1]);
};
const machineNodeIsEnough = () => newEnough(process.version);

/** Why the installed packages differ from the lockfile, or null when they do not. */
function staleness() {
  const wanted = readJson(path.join(ROOT, 'package-lock.json'))?.packages;
  if (!wanted) throw new Failure('package-lock.json cannot be read; is this a whole clone?');
  const have = readJson(INSTALLED)?.packages;
  if (!have) return fs.existsSync(MODULES) ? 'an installation was not finished' : 'first start';
  for (const [name, entry] of Object.entries(wanted)) {
    if (name === '') continue;
    const found = have[name];
    if (!found) {
      // npm skips packages for other platforms; the Node for this one must be present where it is needed.
      if (name === NODE_PACKAGE ? machineNodeIsEnough() : entry.optional || entry.devOptional) continue;
      return `${name.replace('node_modules/', '')} is missing`;
    }
    if (found.version !== entry.version || found.integrity !== entry.integrity) return `${name} has changed`;
    if (!entry.link && !fs.existsSync(path.join(ROOT, name))) return `${name} is missing`;
  }
  return null;
}

/** The npm that started this process, or null; a killed npm forwards no signal, so its end is polled. */
function npmAbove() {
  try {
    return /^npm\b/.test(fs.readFileSync(`/proc/${process.ppid}/cmdline`, 'utf8')) ? process.ppid : null;
  } catch {
    return null;
  }
}

/** Runs a program to its end; resolves with its exit code. Forwards signals of this process to it. */
function runChild(program, args, env = process.env) {
  return new Promise((resolve, reject) => {
    const npm = npmAbove();
    const child = spawn(program, args, { cwd: ROOT, env, stdio: 'inherit' });
    // When npm has been killed, no other process stops the child.
    const orphaned = setInterval(() => {
      if (npm === null || process.ppid === npm) return;
      clearInterval(orphaned);
      child.kill('SIGTERM');
    }, 500);
    const told = new Map();
    const handlers = SIGNALS.map((signal) => {
      const pass = () => {
        // A terminal and npm both send Ctrl-C; two within a second count as one.
        if (Date.now() - (told.get(signal) ?? 0) < 1_000) return;
        told.set(signal, Date.now());
        child.kill(signal);
      };
      process.on(signal, pass);
      return () => process.removeListener(signal, pass);
    });
    const settle = () => {
      clearInterval(orphaned);
      handlers.forEach((remove) => remove());
    };
    child.once('error', (error) => {
      settle();
      reject(error);
    });
    child.once('exit', (code, signal) => {
      settle();
      resolve(signal === null ? code : 128 + (os.constants.signals[signal] ?? 0));
    });
  });
}

/** Start time of a process from `/proc`: null where unknown, `''` for an ended process or a zombie. */
const startOf = (pid) => {
  if (!fs.existsSync('/proc/self/stat')) return null;
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? '' : fields[19];
  } catch {
    return '';
  }
};
/** True while the process is the one with this start time, and not a later one with its pid. */
const alive = (pid, start) => {
  const now = startOf(pid);
  if (now !== null) return now !== '' && (start === undefined || start === now);
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
};
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Looks, 200 ms apart, after which an empty lock file has no owner: 2 seconds. */
const EMPTY_LOOKS = 10;
/**
 * Removes the lock file of this time, which has no owner. Another waiter may have put its own in the same place: a rename gives each
 * file to one waiter, which puts back a file of another time.
 */
function removeLock(file, time) {
  const aside = `${file}.${process.pid}`;
  try {
    fs.renameSync(file, aside);
    if (fs.statSync(aside).mtimeMs !== time) fs.linkSync(aside, file);
  } catch {
    // Another waiter removed it, or a third one has its own there.
  }
  fs.rmSync(aside, { force: true });
}
/** Two commands in a fresh clone must not install into the same folder at once. */
async function locked(work) {
  const hash = createHash('sha256').update(ROOT).digest('hex').slice(0, 16);
  const user = typeof process.getuid === 'function' ? process.getuid() : '';
  const file = path.join(os.tmpdir(), `offhook-install-${user}-${hash}.lock`);
  let [empty, seen] = [0, 0];
  for (let waited = 0; ; waited++) {
    try {
      fs.writeFileSync(file, `${process.pid} ${startOf(process.pid) ?? ''}`.trim(), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw new Failure(`${file} cannot be written: ${error.message}`);
    }
    let owner = 0;
    let start;
    let time;
    try {
      time = fs.statSync(file).mtimeMs;
      [owner, start] = fs.readFileSync(file, 'utf8').split(' ');
    } catch {
      continue;
    }
    if (time !== seen) [empty, seen] = [0, time];
    // The owner of an empty lock file is writing it, or ended before it did, for example at a power cut.
    const stale = Number(owner) > 0 ? !alive(Number(owner), start) : ++empty > EMPTY_LOOKS;
    if (stale) removeLock(file, time);
    else if (waited === 0) say('another command is installing the dependencies; waiting for it');
    await pause(200);
  }
  try {
    return await work();
  } finally {
    fs.rmSync(file, { force: true });
  }
}

/** The npm that started this script, else the one on the PATH. */
function npmCommand() {
  const script = process.env.npm_execpath;
  if (script && /\.c?js$/.test(script) && fs.existsSync(script)) {
    const node = process.env.npm_node_execpath;
    // The Node inside node_modules is about to be replaced, so npm uses another one where possible.
    const usable = node && fs.existsSync(node) && !node.startsWith(MODULES + path.sep);
    return [usable ? node : process.execPath, script];
  }
  return [process.platform === 'win32' ? 'npm.cmd' : 'npm'];
}

async function install() {
  if (staleness() === null) return;
  await locked(async () => {
    const why = staleness();
    if (why === null) return;
    say(`installing dependencies (${why}); this takes a moment …`);
    const began = Date.now();
    const [program, ...leading] = npmCommand();
    // npm reads NODE_ENV=production as "leave out test dependencies"; every script here must work.
    const args = [
      ...leading,
      'ci',
      '--include=dev',
      '--include=optional',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
    ];
    let code;
    try {
      code = await runChild(program, args);
    } catch (error) {
      throw new Failure(`npm cannot be run (${error.message}); install npm 10 or later`);
    }
    const left = code === 0 ? staleness() : `npm ci ended with exit code ${code}`;
    if (left !== null) {
      // Without this file the next run installs again.
      fs.rmSync(INSTALLED, { force: true });
      if (code >= 128) process.exit(code);
      throw new Failure(
        `the dependencies could not be installed: ${left}. The next run tries again; npm's own words are above.`,
      );
    }
    say(`dependencies are installed (${((Date.now() - began) / 1000).toFixed(1)} s)`);
  });
}

/** The Node to run on: the lockfile's, else the machine's own where it is new enough. */
function chooseNode() {
  // It may be present but not run, e.g. with another C library.
  const own = spawnSync(OWN_NODE, ['--version'], { encoding: 'utf8' });
  if (own.status === 0 && newEnough(own.stdout)) return OWN_NODE;
  if (machineNodeIsEnough()) return process.execPath;
  throw new Failure(
    `Node ${NODE_FLOOR.join('.')} or later is needed; this is ${process.version}, and the package that brings one ` +
      `(${path.basename(NODE_PACKAGE)}) is not installed. Install Node 24 from https://nodejs.org and start again.`,
  );
}

const BUILD = ['scripts/build-console.ts'];
const one =
  (...words) =>
  (args) => [[...words, ...args]];
const COMPILED = path.join(MODULES, '.cache', 'node');
/** Compiles the service from its sources and ends; the service itself reports any error. */
const COMPILE = ['-e', "import('./server/src/boot/service.ts').catch(() => {})"];
/** The service as one file. */
const SERVICE = 'server/dist/main.js';
const BUILD_SERVICE = ['scripts/build-service.ts'];
/** Exit code of a build whose folder cannot be written: the service then runs from its sources. */
const NOT_WRITABLE = 73;
const service = (code) =>
  code === 0 && fs.existsSync(path.join(ROOT, SERVICE)) ? SERVICE : 'server/src/programs/main.ts';
/** Programs of test sites, as one file each. */
const PROGRAMS = path.join(MODULES, '.cache', 'programs');
const COMPILE_PROGRAMS = ['-e', "import('./node_modules/.cache/programs/service.js').catch(() => {})"];
/**
 * The console is built once per run; tests that open it check that it is current. A complete run also builds the programs of
 * its sites, and compiles the service from its sources and from that build: tests kill most services they start, and a killed
 * one does not store its compiled code.
 */
const tests =
  (...folders) =>
  (args) => [
    BUILD,
    ...(args.length === 0 ? [COMPILE, ['scripts/build-service.ts', PROGRAMS], COMPILE_PROGRAMS] : []),
    ['scripts/test.ts', ...folders.map((folder) => `--else=${folder}`), ...args],
  ];
/**
 * A young generation of 4 MB keeps 8 MB less and costs about 5 % of peak decoding. One thread beside the main one collects
 * garbage: with four, the main thread of a service that has one core beside its engine got a fifth of that core for 0.2 s at a
 * time. The main thread marks by itself, in small steps, because one thread that marks beside it still took half of that core
 * for 0.8 s. It marks first at 128 MB of old objects, because a large site marked twice while it started. The service collects
 * the garbage of its start once, by `gc`.
 */
const SERVICE_FLAGS = [
  '--max-semi-space-size=4',
  '--v8-pool-size=1',
  '--no-concurrent-marking',
  '--initial-old-space-size=128',
  '--expose-gc',
];
/**
 * Each command as argument lists for Node; a function gets the exit code of the list before. All lists are run unless
 * one ends by a signal, and the highest exit code other than `NOT_WRITABLE` counts.
 */
const COMMANDS = {
  start: (args) => [BUILD, BUILD_SERVICE, (code) => [...SERVICE_FLAGS, service(code), ...args]],
  dev: (args) => [BUILD, ['--watch', 'server/src/programs/main.ts', ...args]],
  build: () => [BUILD, BUILD_SERVICE],
  engine: one('server/src/programs/engine-cli.ts'),
  'get-engine': one('server/src/programs/get-engine.ts'),
  doctor: one('server/src/programs/doctor-cli.ts'),
  migrate: one('server/src/programs/migrate.ts'),
  cluster: (args) => [
    ...(args[0] === 'try' ? [BUILD, BUILD_SERVICE] : []),
    ['server/src/programs/cluster.ts', ...args],
  ],
  'sip-proxy': one('server/src/programs/sip-proxy.ts'),
  config: one('server/src/programs/config-cli.ts'),
  connector: one('server/src/programs/connector-cli.ts'),
  replay: one('server/src/programs/replay.ts'),
  simulator: one('server/src/programs/simulator.ts'),
  rebuild: one('server/src/programs/rebuild.ts'),
  bench: one('bench/run.ts'),
  soak: one('bench/soak.ts'),
  faults: (args) => [
    BUILD,
    ['scripts/build-service.ts', PROGRAMS],
    COMPILE_PROGRAMS,
    ['server/test/faults/run.ts', ...args],
  ],
  house: one('scripts/house.ts'),
  docs: one('tools/docs.ts'),
  // Runs any given TypeScript file, for which the machine's own Node may be too old.
  node: one(),
  'pack-sdk': one('scripts/pack-sdk.ts'),
  'pack-simulator': one('scripts/pack-simulator.ts'),
  test: tests(),
  scenarios: tests('server/test/scenarios', 'server/test/faults'),
  check: () => [
    [path.join(MODULES, '.bin', 'tsc')],
    [path.join(MODULES, '.bin', 'tsc'), '-p', 'console'],
    // Format before lint: it takes one second, lint ten to sixty.
    [path.join(MODULES, '.bin', 'oxfmt'), '--check', '.'],
    [path.join(MODULES, '.bin', 'oxlint')],
    ['tools/docs.ts', '--check'],
    ['tools/lint-contract.ts'],
  ],
};

/** Settings of glibc for a long-running service. */
const LITTLE_MEMORY = {
  // Two arenas serve the few threads; glibc's default of eight per core keeps 30 MB more.
  MALLOC_ARENA_MAX: '2',
  // Returns the 19 MB of each password check when it is done.
  MALLOC_MMAP_THRESHOLD_: '1048576',
};
/** Commands without `LITTLE_MEMORY`: their services end soon, and their passwords need little (quick-passwords.mjs). */
const TESTS = new Set(['test', 'scenarios']);

async function main([name, ...args]) {
  const command = Object.prototype.hasOwnProperty.call(COMMANDS, name) ? COMMANDS[name] : null;
  if (command === null) throw new Failure(`expected one of: ${Object.keys(COMMANDS).join(', ')}`);
  await install();
  const node = chooseNode();
  const env = {
    // Stores compiled code, so that a later start neither strips types again nor needs memory for it.
    NODE_COMPILE_CACHE: COMPILED,
    ...(TESTS.has(name) ? {} : LITTLE_MEMORY),
    ...((TESTS.has(name) && args.length === 0) || name === 'faults' ? { TEST_PROGRAMS: PROGRAMS } : {}),
    ...process.env,
    PATH: `${path.dirname(node)}${path.delimiter}${process.env.PATH ?? ''}`,
  };
  let worst = 0;
  let code = 0;
  for (const list of command(args)) {
    code = await runChild(node, typeof list === 'function' ? list(code) : list, env);
    if (code >= 128) return code;
    if (code !== NOT_WRITABLE) worst = Math.max(worst, code);
  }
  return worst;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  say(error.message);
  process.exitCode = 1;
}
