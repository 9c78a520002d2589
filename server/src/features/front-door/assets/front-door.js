const state = document.querySelector('#engine');
const words = { up: 'The engine is up: calls go through', down: 'The engine is down: no calls now' };

async function look() {
  let engine = 'down';
  let text = 'The service does not answer';
  try {
    const response = await fetch('/healthz', { cache: 'no-store' });
    const health = await response.json();
    engine = health.engine === 'up' ? 'up' : 'down';
    text = words[engine];
  } catch {
    // The text above says it.
  }
  if (state.textContent !== text) state.textContent = text;
  state.dataset.engine = engine;
}
await look();
setInterval(look, 5000);
