// Goes through the frames of each drawing of a page as a reader would. Returns their number and what is wrong: words
// that leave the picture or cross the border of a box, a step that does not come, a picture without a description. The
// tests put this text into the page.
function lookAtFigures() {
  const wrong = [];
  let frames = 0;
  for (const figure of document.querySelectorAll("figure.figure")) {
    const title = figure.querySelector("figcaption").textContent, slider = figure.querySelector("input[type=range]");
    const next = figure.querySelector("button[aria-label='one step on']"), last = Number(slider?.max ?? 0);
    for (let i = 0; i <= last; ++i) {
      if (i > 0) next.click();
      ++frames;
      const picture = figure.querySelector("svg"), view = picture.viewBox.baseVal, words = [];
      const end = (box) => [box.x + box.width, box.y + box.height];
      for (const text of picture.querySelectorAll("text")) {
        const box = text.getBBox(), [right, bottom] = end(box);
        words.push(text.textContent);
        const say = (what) => wrong.push(`${title}, ${i}: "${text.textContent}" ${what}`);
        if (box.x < 0 || box.y < 0 || right > view.width || bottom > view.height) say("leaves the picture");
        for (const rect of picture.querySelectorAll("rect")) {
          const [x, y] = [rect.x.baseVal.value, rect.y.baseVal.value];
          const [far, low] = [x + rect.width.baseVal.value, y + rect.height.baseVal.value];
          const apart = right <= x || box.x >= far || bottom <= y || box.y >= low;
          const inside = box.x >= x && right <= far && box.y >= y - 1 && bottom <= low + 1;
          if (!apart && !inside) say("crosses a box");
        }
      }
      const told = picture.getAttribute("aria-label");
      for (const word of words)
        if (!told.includes(word)) wrong.push(`${title}, ${i}: the description has no "${word}"`);
      if (slider && Number(slider.value) !== i) wrong.push(`${title}: step ${i} does not come`);
      if (picture.getBoundingClientRect().right > innerWidth) wrong.push(`${title} is wider than the window`);
    }
  }
  return {frames, wrong};
}
