// Waiting for what has no event of its own.

/** For how many milliseconds a test waits for what is to come: a busy machine is slow, and only a failure waits for so long. */
export const patience = 60_000;

/** Asks until the answer is truthy and returns it; says what was waited for when it never is. */
export async function until(ask, what, { timeout = patience, every = 50 } = {}) {
  const end = Date.now() + timeout;
  for (let last; ; ) {
    try {
      const answer = await ask();
      if (answer) return answer;
      last = answer;
    } catch (e) {
      last = e;
    }
    if (Date.now() > end) throw new Error(`waited ${timeout / 1000} s for ${what}, last: ${last?.stack ?? JSON.stringify(last)}`);
    await new Promise((done) => setTimeout(done, every));
  }
}

/** The promise, or an error after that many milliseconds. */
export function within(promise, milliseconds, what) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error(`${what} took more than ${milliseconds / 1000} s`)), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Waits until the words of an element match: what it says may come in parts. */
export const says = (locator, pattern) => until(async () => pattern.test(await locator.innerText()), `${locator} to say ${pattern}`);

/** Waits until a field has a value. */
export const keeps = (locator, value) => until(async () => (await locator.inputValue()) === value, `${locator} to hold ${value}`);
