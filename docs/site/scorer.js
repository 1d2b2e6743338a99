// Sphinx's own weights, and pages in the reader's language before all others: Chinese after a Chinese page, and for a
// query with Chinese characters.
var Scorer = {
  score: ([page, , , , score]) => {
    const asked = new URLSearchParams(window.location.search).get("q") || "";
    const chinese = /\/zh\//.test(document.referrer) || /[\u4e00-\u9fff]/.test(asked);
    return page.startsWith("zh/") === chinese ? score + 1000 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
