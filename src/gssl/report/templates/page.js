"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const font = getComputedStyle(document.body).fontFamily;
  // colours follow the page: "currentColor" is the text colour of the chart's element
  const text = { labelColor: "currentColor", titleColor: "currentColor", labelFont: font, titleFont: font };
  const config = {
    background: "transparent",
    font,
    view: { stroke: null },
    axis: {
      ...text, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", titlePadding: 8,
      grid: true, gridColor: "currentColor", gridOpacity: 0.16, domainColor: "currentColor", domainOpacity: 0.4,
      tickColor: "currentColor", tickOpacity: 0.4,
    },
    text: { font, color: "currentColor" },
  };
  const options = {
    mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
  };

  // axis labels may take about a third of the width
  function roomy(element) {
    const labelLimit = Math.round(Math.min(190, element.clientWidth * 0.36));
    return { ...options, config: { ...config, axis: { ...config.axis, labelLimit } } };
  }

  function fitted(element, spec) {
    const ratio = Number(element.dataset.ratio);
    if (!ratio) return spec;
    return { ...spec, height: Math.round(Math.min(620, Math.max(320, element.clientWidth * ratio))) };
  }

  function chooseClasses(view) {
    const buttons = [...document.querySelectorAll(".legend button")];
    for (const button of buttons) {
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        for (const other of buttons) other.setAttribute("aria-pressed", String(on && other === button));
        view.signal("chosen", on ? Number(button.dataset.class) : -1).run();
      });
    }
  }

  // many points are drawn on a canvas, which does not support "currentColor"
  function drawing(element, spec) {
    const rows = spec.datasets ? spec.datasets.rows : [];
    const settings = roomy(element);
    if (rows.length <= 6000) return [spec, settings];
    const { datasets, ...rest } = spec;
    const ink = getComputedStyle(element).color;
    const inked = (value) => JSON.parse(JSON.stringify(value).replaceAll("currentColor", ink));
    return [{ ...inked(rest), datasets }, { ...settings, config: inked(settings.config), renderer: "canvas" }];
  }

  // print what is folded, too; for browsers in which the style alone does not open it
  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("details:not([open])")) {
      folded.open = true;
      addEventListener("afterprint", () => { folded.open = false; }, { once: true });
    }
  });

  for (const element of document.querySelectorAll("[data-chart]")) {
    const name = element.dataset.chart;
    vegaEmbed(element, ...drawing(element, fitted(element, charts[name])))
      .then(({ view }) => {
        if (name === "map") chooseClasses(view);
        element.dataset.drawn = "yes";
      })
      .catch((error) => {
        element.textContent = "This chart could not be drawn.";
        console.error(error);
      });
  }
})();
