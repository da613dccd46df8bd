// What choosing a part of the time costs the page.

// Milliseconds of each step of choosing another part of the time, from the change to the frame after the next.
export const brushSteps = (page, steps) =>
  page.evaluate(async (count) => {
    const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const out = [];
    for (let step = 0; step < count; step++) {
      const begin = performance.now();
      location.hash = `#/execution/all?tab=memory&from=${(step % 10) * 1e8}&to=${(step % 10) * 1e8 + 5e8}`;
      await frame();
      out.push(performance.now() - begin);
    }
    return out;
  }, steps);
