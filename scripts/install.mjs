// Installs what is missing before a command runs: the locked packages, and with them the pinned Node 24.
// Plain JavaScript, since it is the one file that whatever Node is on the machine has to be able to run.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const stamp = join(root, 'node_modules', '.inlay-installed');
const wanted = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .update(`${process.platform} ${process.arch}`)
  .digest('hex');

/** The major version of the Node that npm scripts will run, or 0 if it does not start. */
function nodeMajor() {
  const local = join(root, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  const command = existsSync(local) ? local : process.execPath;
  const run = spawnSync(command, ['-p', 'process.versions.node'], { encoding: 'utf8' });
  return run.status === 0 ? Number.parseInt(run.stdout, 10) : 0;
}

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  console.log('Inlay: installing packages (npm ci) …');
  const install = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel', 'error'], {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  if (install.status !== 0) {
    console.error('Inlay: npm ci failed, see above.');
    process.exit(1);
  }
  if (nodeMajor() < 24) {
    console.error(
      'Inlay: the package "node" did not bring Node 24. Allow its install script (npm install-scripts approve node), ' +
        'delete node_modules and start again, or use Node 24 or newer.',
    );
    process.exit(1);
  }
  writeFileSync(stamp, wanted);
}
