/* SPDX-License-Identifier: MIT
 *
 * adapter.js - what the Node adapters share: the line protocol of README.md on stdin and stdout, and how a URL becomes a client of ioredis.
 *
 * Requests are played one after another, as the tool sends them. A hook that throws has an unknown outcome, but for `open`, after which
 * nothing is held. An adapter says in its own file which failures are certain.
 */
'use strict';
const fs = require('fs');
const path = require('path');
const readline = require('readline');
const { createRequire } = require('module');
const { pathToFileURL } = require('url');

/* stdout belongs to the protocol: what a library prints is for people. */
console.log = console.info = console.debug = console.error;

const folder = process.env.LOCKBENCH_PEERS;
if (!folder) {
  console.error('LOCKBENCH_PEERS names no folder: expected the one in which npm made node_modules');
  process.exit(2);
}

/** A module of that folder. */
function load(module) {
  try {
    return createRequire(path.resolve(folder, 'package.json'))(module);
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
    console.error(`${module} is not in ${folder}/node_modules: ./bench peers installs it`);
    process.exit(2);
  }
}

/** A module of that folder that only `import` can load. */
const imported = (module) => import(pathToFileURL(createRequire(path.resolve(folder, 'package.json')).resolve(module)));

/** The version of an installed module, as its package.json says (that of redlock 5 begins with a v). */
function versionOf(module) {
  const said = JSON.parse(fs.readFileSync(path.join(folder, 'node_modules', module, 'package.json'), 'utf8'));
  return said.version.replace(/^v/, '');
}

/** One line of what went wrong: the error, or the errors that it gathers. */
function text(error) {
  const inner = error && error.errors ? ` (${error.errors.map((e) => e.message).join('; ')})` : '';
  const words = error instanceof Error ? `${error.name}: ${error.message || error.code || ''}${inner}` : String(error);
  return words.replace(/[\u0000-\u001f\u007f]+/g, ' ').slice(0, 300);
}

/** Writes a line unasked: `doubt` or `lost`, and why. */
function tell(word, why) {
  process.stdout.write(`! ${word} ${text(why)}\n`);
}

/** The words of a request: `server` is a list, numbers stand as numbers under names that end in _ms. */
function words(line) {
  const [number, verb, ...rest] = line.split(' ');
  const request = { number, verb, server: [] };
  for (const word of rest) {
    const at = word.indexOf('=');
    if (at < 1) continue;
    const name = word.slice(0, at);
    const value = decodeURIComponent(word.slice(at + 1));
    if (name === 'server') request.server.push(value);
    else request[name] = name.endsWith('_ms') ? Number(value) : value;
  }
  return request;
}

/** The parts of a server's URL. */
function parts(url) {
  const u = new URL(url);
  return {
    scheme: u.protocol.slice(0, -1),
    host: u.hostname.replace(/^\[|\]$/g, ''),
    port: Number(u.port),
    username: decodeURIComponent(u.username) || undefined,
    password: decodeURIComponent(u.password) || undefined,
  };
}

/** The ioredis clients of a request `open`: one for each server, or one for all Sentinels. No setting differs from ioredis's own defaults. */
function clients(request) {
  const Redis = load('ioredis');
  const servers = request.server.map(parts);
  const made =
    request.topology && request.topology.startsWith('sentinel')
      ? [new Redis({
          sentinels: servers.map(({ host, port }) => ({ host, port })),
          name: request.master,
          username: servers[0].username,
          password: servers[0].password,
          sentinelUsername: servers[0].username,
          sentinelPassword: servers[0].password,
        })]
      : servers.map(({ scheme, host, port, username, password }) =>
          new Redis({ host, port, username, password, tls: scheme === 'rediss' ? {} : undefined }));
  for (const client of made) client.on('error', (error) => console.error(text(error)));
  return made;
}

/** A connected client of node-redis, which `module` is: its defaults, and the listener for errors that its README asks for. */
async function nodeRedis(module, request) {
  const client = load(module).createClient({ url: request.server[0] });
  client.on('error', (error) => console.error(text(error)));
  await client.connect();
  return client;
}

/**
 * Says the first line and plays requests until stdin ends or `quit`. `hooks` has open, acquire, extend, holds and release, as far as
 * the library can; each is given the words of its request, and answers with the rest of the line, or with nothing for `ok`.
 */
function serve(says, hooks) {
  const line = Object.entries(says).map(([name, value]) => ` ${name}=${value}`).join('');
  process.stdout.write(`lockbench-adapter 1${line}\n`);
  const input = readline.createInterface({ input: process.stdin, terminal: false });
  let last = Promise.resolve();

  async function play(received) {
    let request = { number: received.split(' ')[0], verb: '' };
    let answer;
    try {
      request = words(received);
      if (request.verb === 'ping' || request.verb === 'quit') answer = 'ok';
      else if (hooks[request.verb]) answer = (await hooks[request.verb](request)) || 'ok';
      else answer = `error ${request.verb || 'nothing'} is not offered`;
    } catch (error) {
      answer = `${request.verb === 'open' || request.verb === '' ? 'error' : 'unknown'} ${text(error)}`;
    }
    process.stdout.write(`${request.number} ${answer}\n`);
    if (request.verb === 'quit') process.exit(0);
  }
  input.on('line', (received) => { last = last.then(() => play(received)); });
  input.on('close', () => process.exit(0));
}

module.exports = { clients, imported, load, nodeRedis, parts, serve, tell, text, versionOf };
