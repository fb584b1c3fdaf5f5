"""DiffESM-S, from its equations."""
import jax.numpy as jnp
from jax import lax
from jax.nn import sigmoid

from model import Model

DEFAULTS = dict(
    p_rf_co2=5.35, p_rf_co2r=590.0, p_rf_ch4=0.036, p_rf_ch4r=1900.0, p_rf_n2o=0.12, p_rf_n2or=332.0, p_rf_sulf=0.1,
    p_rf_bc=0.05, p_rf_ind=-0.15, p_a_ice=0.6, p_a_ocn=0.06, p_a_ref=0.438, p_rf_alb=1.5, p_rf_vol=0.0, p_rf_fb=1.0,
    p_lam=1.2, p_kht=0.73, p_Cm=8.0, p_Cd=100.0, p_cf=0.3, p_npp=60.0, p_npp_to=2.0, p_tr=0.04, p_resp=0.02,
    p_lit=0.035, p_df=0.1, p_ds=0.005, p_fs=0.01, p_pts=2.0, p_pt=0.001, p_ao=0.05, p_oa=0.005, p_ots=0.01,
    p_od=0.001, p_do=0.0005, p_md=0.09, p_mts=0.02, p_mw=20.0, p_mp=0.001, p_mo=10.0, p_mnb=40.0, p_ns=1.0,
    p_nts=0.02, p_nd=0.008, p_no=3.0, p_im=2.0, p_it=3.0, p_ir=0.05, p_sf=0.02, p_sd=1.0, p_alt=0.02, p_be=0.001,
    p_bd=0.2,
    p_b1p=2.0, p_b1lt=0.1, p_b1wt=0.01, p_b1ws=0.05, p_b1to=1.0,
    p_b2p=1.5, p_b2lt=0.08, p_b2wt=0.008, p_b2ws=0.03, p_b2to=0.5, p_b2fs=0.02,
    p_b3p=0.8, p_b3lt=0.15, p_b3wt=0.02, p_b3ws=0.04, p_b3to=1.5, p_b3fs=0.01)

START = dict(C_atm=590.0, C_up=900.0, C_deep=37000.0, C_veg=550.0, C_sf=300.0, C_ss=1200.0, C_perm=1400.0, M=1900.0,
             N=332.0, T_s=0.0, T_d=0.0, ice=0.7, S=1.0, B=0.1, leaf=[5.0, 4.0, 2.0], wood=[200.0, 100.0, 30.0])


def year(P, drivers, s):
    p = lambda name: P["p_" + name]
    trait = lambda name: jnp.stack([p(f"b{j}{name}") for j in (1, 2, 3)])
    # 1. forcing
    r_co2 = p("rf_co2") * jnp.log(s["C_atm"] / p("rf_co2r"))
    r_ch4 = p("rf_ch4") * (jnp.sqrt(s["M"]) - jnp.sqrt(p("rf_ch4r")))
    r_n2o = p("rf_n2o") * (jnp.sqrt(s["N"]) - jnp.sqrt(p("rf_n2or")))
    r_aer = -p("rf_sulf") * s["S"] + p("rf_bc") * s["B"] + p("rf_ind") * jnp.log1p(s["S"])
    albedo = p("a_ice") * s["ice"] + p("a_ocn") * (1 - s["ice"])
    r_alb = p("rf_alb") * (p("a_ref") - albedo)
    forcing = p("rf_fb") * (r_co2 + r_ch4 + r_n2o + r_aer + r_alb + p("rf_vol"))
    # 2. temperature
    exchange = p("kht") * (s["T_s"] - s["T_d"])
    T = s["T_s"] + (forcing - p("lam") * s["T_s"] - exchange) / p("Cm")
    # 3. carbon
    phi = 1 + p("cf") * jnp.log(s["C_atm"] / 590)
    npp = p("npp") * phi * jnp.exp(-((T - p("npp_to")) ** 2) / 10)
    rho = jnp.exp(p("tr") * T)
    resp, litter = p("resp") * s["C_veg"] * rho, p("lit") * s["C_veg"]
    dec_f, dec_s, f2s = p("df") * s["C_sf"] * rho, p("ds") * s["C_ss"] * rho, p("fs") * s["C_sf"]
    thaw = sigmoid(p("pts") * (T - 2))
    perm = p("pt") * thaw * s["C_perm"]
    upt, out = p("ao") * (s["C_atm"] - p("ots") * T * s["C_up"]), p("oa") * s["C_up"]
    deep = p("od") * s["C_up"] - p("do") * s["C_deep"]
    # 6. ice
    eq = sigmoid(-p("im") * (T - p("it")))
    raw = s["ice"] + p("ir") * (eq - s["ice"])
    # 8. biomes, as vectors
    leaf, wood = s["leaf"], s["wood"]
    ph = trait("p") * leaf * phi * jnp.exp(-((T - trait("to")) ** 2) / 20)
    frost = jnp.stack([0.0, p("b2fs"), p("b3fs")]) * leaf * sigmoid(-5 * T)
    wood_loss = trait("wt") * wood
    return dict(
        C_atm=s["C_atm"] + drivers["E_CO2"] - npp - ph.sum() + wood_loss.sum() + resp + dec_f + dec_s + perm - upt
        + out,
        C_up=s["C_up"] + upt - out - deep,
        C_deep=s["C_deep"] + deep,
        C_veg=s["C_veg"] + npp - resp - litter,
        C_sf=s["C_sf"] + litter - dec_f - f2s,
        C_ss=s["C_ss"] + f2s - dec_s,
        C_perm=s["C_perm"] - perm,
        M=s["M"] + drivers["E_CH4"] + p("mnb") + p("mw") * jnp.exp(0.05 * T) + p("mo") + p("mp") * thaw * s["C_perm"]
        - p("md") * jnp.exp(p("mts") * T) * s["M"],
        N=s["N"] + drivers["E_N2O"] + p("ns") * jnp.exp(p("nts") * T) + p("no") - p("nd") * s["N"],
        T_s=T,
        T_d=s["T_d"] + exchange / p("Cd"),
        ice=sigmoid(20 * (raw - 0.5)),
        S=s["S"] + p("sf") * drivers["E_SO2"] - p("sd") * s["S"] * (1 + p("alt") * T),
        B=s["B"] + p("be") * drivers["E_CO2"] - p("bd") * s["B"],
        leaf=leaf + 0.05 * ph - trait("lt") * leaf - trait("ws") * leaf * sigmoid(2 * (T - 3)) - frost,
        wood=wood + 0.25 * ph - wood_loss)


def diffesm(p, v):
    start = {name: jnp.asarray(x) for name, x in START.items()}
    end, _ = lax.scan(lambda s, _: (year(p, v, s), None), start, length=v["steps"])
    return end["T_s"]


MODELS = [Model("earth/diffesm-s", diffesm, DEFAULTS,
                {"steps": [1, 10, 50, 200], "E_CO2": (5.0, 15.0), "E_CH4": (50.0, 150.0), "E_N2O": (2.0, 6.0),
                 "E_SO2": (25.0, 75.0)}, spread=0.01, hessian=False, points=8)]
