import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acquireLines, mirrorsOfList, mirrorsOfSources, parseOsRelease, readMachine } from './machine.ts';

test('machine - os-release is read with and without quotes', () => {
  const fields = parseOsRelease(
    'ID=ubuntu\nID_LIKE="debian"\nPRETTY_NAME=\'Ubuntu 24.04\'\n# no=thing\nbroken\n',
  );
  assert.deepEqual(Object.fromEntries(fields), {
    ID: 'ubuntu',
    ID_LIKE: 'debian',
    PRETTY_NAME: 'Ubuntu 24.04',
  });
});

test('machine - mirrors of a one-line list: Debian’s own suites only', () => {
  const list = `
# deb http://commented.example/debian bookworm main
deb-src http://sources.example/debian bookworm main
deb [arch=amd64 signed-by=/x.gpg] http://mirror.example/debian/ bookworm main contrib # near
deb http://mirror.example/debian-security bookworm-security main
deb http://apt.postgresql.example/pub bookworm-pgdg main
deb cdrom:[Debian]/ bookworm main
deb http://other.example/debian bookworm contrib
deb http://flat.example/debian ./
`;
  assert.deepEqual(mirrorsOfList(list), ['http://mirror.example/debian']);
});

test('machine - mirrors of a deb822 file: every stanza, folded fields, disabled ones left out', () => {
  const text = `Types: deb deb-src
# a comment
URIs: http://one.example/debian
  https://two.example/debian/
Suites: bookworm bookworm-updates
Components: main

Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
Enabled: no

Types: deb
URIs: http://one.example/debian-security
Suites: bookworm-security
Components: main
`;
  assert.deepEqual(mirrorsOfSources(text), ['http://one.example/debian', 'https://two.example/debian']);
});

test('machine - only how to reach a mirror is taken from the machine’s apt, never what weakens its checks', () => {
  const dump = `APT::Architecture "amd64";
Acquire "";
Acquire::http "";
Acquire::http::Proxy "http://proxy.example:3128/";
Acquire::http::Proxy::deb.example "DIRECT";
Acquire::https::CAInfo "/etc/ssl/own.pem";
Acquire::ForceIPv4 "true";
Acquire::Check-Date "false";
Acquire::AllowInsecureRepositories "true";
Acquire::AllowWeakRepositories "true";
Acquire::http::Pipeline-Depth "0";
Dir::Etc::trusted "/somewhere";
Acquire::IndexTargets::deb::DEP-11::MetaKey "x";
`;
  assert.deepEqual(acquireLines(dump), [
    'Acquire::http::Proxy "http://proxy.example:3128/";',
    'Acquire::http::Proxy::deb.example "DIRECT";',
    'Acquire::https::CAInfo "/etc/ssl/own.pem";',
    'Acquire::ForceIPv4 "true";',
    'Acquire::Check-Date "false";',
    'Acquire::http::Pipeline-Depth "0";',
  ]);
});

test('machine - this one can be read', async () => {
  const machine = await readMachine();
  assert.match(machine.triplet, /-linux-gnu$/);
});

test('machine - another distribution is named; one like Debian is not refused', async () => {
  const fedora = readMachine(undefined, 'ID=fedora\nPRETTY_NAME="Fedora Linux 43"\n');
  await assert.rejects(fedora, { name: 'ProvisionError', reason: 'unsupported', message: /Fedora Linux 43/ });
  const mint = await readMachine(undefined, 'ID=linuxmint\nID_LIKE="ubuntu debian"\n');
  assert.deepEqual(mint.mirrors, []);
});
