// Opens every page of a folder in a browser and checks it: page_test.js FOLDER CHROMIUM. Called by page_test.sh.
'use strict';
const fs = require('fs');
const path = require('path');
const { chromium } = require('playwright-core');

const [folder, browserPath] = process.argv.slice(2);
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const quiet = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

// What is wrong with the page that a tab shows.
async function faults(tab) {
  // By the tab's debugger, which the page's policy does not bind.
  await tab.evaluate(axe);
  const { violations } = await tab.evaluate(() => window.axe.run());
  const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  const styled = await tab.evaluate(() => getComputedStyle(document.querySelector('main')).display === 'grid');
  return [...told, ...(wide > 0 ? [`${wide} pixels too wide`] : []), ...(styled ? [] : ['the style does not apply'])];
}

async function check(browser, file) {
  const found = [];
  const name = path.basename(file, '.html');
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [320, 390, 1440, 3840]) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } });
      const tab = await context.newPage();
      const requests = [];
      tab.on('request', (request) => requests.push(request.url()));
      tab.on('console', (message) => found.push(`${name}: ${message.text()}`));
      tab.on('pageerror', (error) => found.push(`${name}: ${error}`));
      await tab.goto(`file://${file}`);
      const here = `${name}, ${colorScheme}, ${width} pixels`;
      found.push(...(await faults(tab)).map((fault) => `${here}: ${fault}`));
      await tab.screenshot({ path: `${folder}/${name}-${colorScheme}-${width}.png`, fullPage: true });
      if (width === 1440 && colorScheme === 'dark') {
        // A dark screen prints on white paper.
        await tab.emulateMedia({ media: 'print', colorScheme });
        found.push(...(await faults(tab)).map((fault) => `${name}, print: ${fault}`));
        await tab.pdf({ path: `${folder}/${name}.pdf`, preferCSSPageSize: true, printBackground: true });
      }
      if (requests.length !== 1) found.push(`${here}: it loads ${requests.slice(1)}`);
      await context.close();
    }
  }
  return found;
}

(async () => {
  const browser = await chromium.launch({ executablePath: browserPath, args: quiet });
  const files = fs.readdirSync(folder).filter((name) => name.endsWith('.html')).map((name) => path.join(folder, name));
  const found = [];
  for (const file of files) found.push(...(await check(browser, file)));
  await browser.close();
  if (found.length > 0) {
    console.error(found.join('\n'));
    process.exit(1);
  }
})();
