// Sphinx's own weights. Results are pages in the reader's language, each once: Chinese after a Chinese page, and for a
// query with Chinese characters. Pages in the other language come where this one has none.
{
  const asked = new URLSearchParams(window.location.search).get("q") || "";
  const chinese = /\/zh\//.test(document.referrer) || /[\u4e00-\u9fff]/.test(asked);
  const everywhere = Search._performSearch;
  Search._performSearch = (...query) => {
    const found = everywhere(...query); // the best is the last
    const read = found.filter(([page]) => page.startsWith("zh/") === chinese);
    const results = read.length ? read : found;
    return results.filter(([page], at) => results.findLastIndex(([other]) => other === page) === at);
  };
}
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
